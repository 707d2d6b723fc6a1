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
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("input", filter);
  filter();
})();
