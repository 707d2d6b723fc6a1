// Claims on the site: the tables of the page as one, a row for each claim and what judges it, to filter
// and to sort. Without a script the tables stay as they are.
"use strict";

const SIGNS = { supported: "✓", contradicted: "✗", equivalent: "≈", inconclusive: "?" };
const NUMBERS = /^([\w ]+?)(?: \((-?[\d.]+)(?: \[(-?[\d.]+), (-?[\d.]+)\])?(.*)\))?$/;
const DECIDES = /decided by ([^;]*)/;

/** What judges a claim: `cars: contradicted (-1.09 [-2.17, -0.00], other classes; 0 of 4)`. */
function judged(text, paper, claim, where) {
  const scope = text.startsWith("out of scope") ? [, "print", "out of scope"] : null;
  const [, data, says] = scope ?? text.match(/^([^:(]+): (.*)$/) ?? [, "print", text];
  const found = says.match(NUMBERS);
  if (!found) return null;
  const [, verdict, value, low, high, rest] = found;
  return { paper, claim, where, data, verdict, value, low, high, rest: rest ?? "",
    decides: (rest ?? "").match(DECIDES)?.[1] ?? "" };
}

/** The rows of the tables below the headings of papers, which are taken off the page. */
function taken(page) {
  const rows = [];
  for (const head of page.querySelectorAll("h2[id]")) {
    for (let next = head.nextElementSibling; next && next.tagName !== "H2"; next = next.nextElementSibling) {
      const table = next.querySelector?.("table") ?? (next.tagName === "TABLE" ? next : null);
      if (!table) continue;
      for (const row of table.tBodies[0].rows) {
        const cells = [...row.cells];
        const told = cells.slice(1, -1).flatMap((cell) => cell.innerText.split("\n"));
        for (const text of told.map((each) => each.trim()).filter(Boolean)) {
          const one = judged(text, head.id, cells[0].innerText, cells.at(-1).innerText);
          if (one) rows.push(one);
        }
      }
      next.remove();
      break;
    }
  }
  return rows;
}

/** An interval on an axis of ten points to either side of zero; an arrow's end is beyond it. */
function drawn({ value, low, high, verdict }) {
  if (value === undefined) return "";
  const at = (number) => 60 + 5.5 * Math.max(-10, Math.min(10, Number(number)));
  const bar = low === undefined ? "" : `<path d="M${at(low)} 8H${at(high)}" stroke="currentColor" stroke-width="2"/>`;
  const words = `${value}${low === undefined ? "" : `, 95 % interval ${low} to ${high}`}: ${verdict}`;
  return `<svg width="120" height="16" role="img" aria-label="${words}">
    <path d="M60 0V16" stroke="currentColor" stroke-dasharray="2 2" opacity=".6"/>${bar}
    <circle cx="${at(value)}" cy="8" r="3.5" fill="currentColor"/></svg>`;
}

const HEADS = { paper: "paper", claim: "claim", data: "judged by", verdict: "verdict", value: "difference, points", decides: "decided by" };

function shown(rows) {
  const html = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const line = (row) => `<tr><td>${row.paper}</td><td>${html(row.claim)}<br><small>${html(row.where)}</small></td><td>${row.data}</td>
    <td class="${row.verdict.replaceAll(" ", "-")}">${SIGNS[row.verdict] ?? ""} ${row.verdict}</td>
    <td>${drawn(row)}<br>${row.value ?? ""}${row.low ? ` [${row.low}, ${row.high}]` : ""}</td><td>${row.decides}</td></tr>`;
  return rows.map(line).join("");
}

function start(page) {
  const rows = taken(page);
  const choices = (key) => [...new Set(rows.map((row) => row[key]))].sort();
  const select = (key) => `<label>${HEADS[key]} <select name="${key}"><option value="">all</option>${choices(key).map((each) => `<option>${each}</option>`).join("")}</select></label>`;
  const box = document.createElement("form");
  box.id = "verdicts";
  box.innerHTML = `${["paper", "verdict", "data"].map(select).join(" ")} <label>words <input name="words" type="search"></label> <output></output>
    <div class="md-typeset__scrollwrap" tabindex="0" role="region" aria-label="claims"><table><thead><tr>${Object.entries(HEADS)
      .map(([key, words]) => `<th aria-sort="none"><button type="button" name="${key}">${words}</button></th>`).join("")}</tr></thead><tbody></tbody></table></div>`;
  page.querySelector("h2[id]").before(box);
  let by = null, down = false;
  const draw = () => {
    const wanted = Object.fromEntries(new FormData(box));
    const left = rows.filter((row) => ["paper", "verdict", "data"].every((key) => !wanted[key] || row[key] === wanted[key])
      && wanted.words.toLowerCase().split(" ").every((word) => `${row.claim} ${row.decides}`.toLowerCase().includes(word)));
    if (by) left.sort((a, b) => (down ? -1 : 1) * (by === "value" ? (a.value ?? 99) - (b.value ?? 99) : a[by].localeCompare(b[by])));
    box.querySelector("tbody").innerHTML = shown(left);
    box.querySelector("output").textContent = `${left.length} of ${rows.length} verdicts`;
  };
  box.addEventListener("input", draw);
  box.addEventListener("submit", (event) => event.preventDefault());
  for (const button of box.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      down = by === button.name && !down;
      by = button.name;
      for (const head of box.querySelectorAll("th")) head.ariaSort = head.contains(button) ? (down ? "descending" : "ascending") : "none";
      draw();
    });
  }
  draw();
}

addEventListener("DOMContentLoaded", () => start(document.querySelector("article")));
