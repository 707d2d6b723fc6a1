"use strict";
(() => {
  const table = document.querySelector(".browser");
  const runs = [...table.tBodies];
  const heads = [...table.tHead.rows[0].cells];
  const text = (run, column) => run.rows[0].cells[column].textContent.trim();
  const number = (value) => (/^[+\-\u2212]?[\d.]+\*?$/.test(value) ? parseFloat(value.replace("\u2212", "-")) : NaN);

  // Numbers by size and before words; what is missing comes last, whatever the direction.
  const compare = (a, b, direction) => {
    if (a === b) return 0;
    if (a === "\u2013" || a === "") return 1;
    if (b === "\u2013" || b === "") return -1;
    const [x, y] = [number(a), number(b)];
    if (!isNaN(x) && !isNaN(y)) return direction * (x - y);
    return direction * a.localeCompare(b, "en", { numeric: true });
  };

  const sort = (column) => {
    const head = heads[column];
    const first = head.classList.contains("text") ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order);
    const direction = order === "ascending" ? 1 : -1;
    const sorted = runs.map((run) => [text(run, column), run]).sort((a, b) => compare(a[0], b[0], direction));
    table.append(...sorted.map(([, run]) => run));
  };

  heads.forEach((head, column) => {
    if (head.classList.contains("plain")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sort(column));
    head.replaceChildren(button);
  });

  const form = document.querySelector(".filter");
  const [field, count] = [form.querySelector("input"), form.querySelector("output")];
  const said = runs.map((run) => `${run.rows[0].textContent} ${run.querySelector("code").textContent}`.toLowerCase());
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    runs.forEach((run, index) => {
      run.hidden = !words.every((word) => said[index].includes(word));
      shown += !run.hidden;
    });
    count.textContent = `${shown} of ${runs.length} runs`;
  };

  // Two picked runs, side by side: what differs, curves, queries.
  const made = (tag, text, ...children) => {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    element.append(...children);
    return element;
  };
  const settings = (list) => new Map([...(list?.children ?? [])].map((span) => {
    const value = span.querySelector("b").nextSibling?.textContent.trim();
    return [span.querySelector("b").textContent, value || "\u2013"];
  }));
  const common = settings(document.querySelector("main > details > .settings"));
  const differences = (pair) => {
    // Columns of text are in the titles, and in the settings.
    const numbers = [...heads.keys()].filter((column) => !heads[column].classList.contains("text"));
    const cells = numbers.map((column) => [heads[column].textContent.trim(), ...pair.map((run) => text(run, column))]);
    const own = pair.map((run) => settings(run.querySelector(".settings")));
    const keys = [...new Set(own.flatMap((each) => [...each.keys()]))];
    const values = keys.map((key) => [key, ...own.map((each) => each.get(key) ?? common.get(key) ?? "\u2013")]);
    return [...cells, ...values].filter(([, one, other]) => one !== other);
  };
  const titles = (pair) => {
    const differing = [...heads.keys()].filter((column) => {
      const plain = heads[column].classList.contains("text") && !heads[column].classList.contains("plain");
      return column === 0 || (plain && text(pair[0], column) !== text(pair[1], column));
    });
    return pair.map((run) => differing.map((column) => {
      const value = text(run, column);
      return column === 0 ? value : `${heads[column].textContent.trim()} ${value || "\u2013"}`;
    }).join(", "));
  };
  const sideBySide = (title, pair, part) => {
    const found = pair.map((run) => run.querySelectorAll(part));
    if (!found.some((each) => each.length)) return [];
    const columns = found.map((each) => made("div", "", ...[...each].map((one) => one.cloneNode(true))));
    const row = made("div", "", ...columns);
    row.className = "pair";
    return [made("h3", title), row];
  };
  const panel = document.querySelector(".compare");
  let picked = [];
  const showPair = () => {
    panel.hidden = picked.length < 2;
    if (panel.hidden) return;
    const pair = [...picked].sort((a, b) => runs.indexOf(a) - runs.indexOf(b));
    const named = titles(pair);
    const row = ([key, ...values]) => made("tr", "", made("th", key), ...values.map((value) => made("td", value || "\u2013")));
    const table = made("table", "", made("thead", "", made("tr", "", made("td"), ...named.map((title) => made("th", title)))),
      made("tbody", "", ...differences(pair).map(row)));
    table.querySelectorAll("tbody th").forEach((each) => { each.scope = "row"; });
    table.querySelectorAll("thead th").forEach((each) => { each.scope = "col"; });
    const close = made("button", "Close");
    close.type = "button";
    close.addEventListener("click", () => {
      runs.forEach((run) => { run.querySelector(".pick").checked = false; });
      picked = [];
      showPair();
    });
    panel.replaceChildren(made("h2", "Two runs, side by side"), close,
      made("h3", "What differs"), table,
      ...sideBySide("Curves, each on a scale of its own", pair, ".curve"),
      ...sideBySide("Queries", pair, ".parts .asked, .gallery"));
    panel.scrollIntoView({ block: "nearest" });
  };
  runs.forEach((run) => {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.className = "pick";
    box.title = "Pick two runs to compare them";
    box.setAttribute("aria-label", `Compare ${text(run, 0)}, ${run.querySelector("code").textContent}`);
    box.addEventListener("change", () => {
      picked = picked.filter((each) => each !== run);
      if (box.checked) picked.push(run);
      if (picked.length > 2) picked.shift().querySelector(".pick").checked = false;
      showPair();
    });
    run.rows[0].cells[0].prepend(box);
  });

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("input", filter);
  filter();
})();
