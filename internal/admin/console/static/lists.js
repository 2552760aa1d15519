// Lists with check boxes: one box in the head selects those of the page.
"use strict";
for (const head of document.querySelectorAll("input[data-all]")) {
  const boxes = [...head.form.querySelectorAll(`input[type="checkbox"][name="${head.dataset.all}"]`)];
  const show = () => {
    const n = boxes.filter((b) => b.checked).length;
    head.checked = n > 0 && n === boxes.length;
    head.indeterminate = n > 0 && n < boxes.length;
  };
  head.hidden = false;
  head.addEventListener("change", () => { for (const b of boxes) b.checked = head.checked; });
  for (const b of boxes) b.addEventListener("change", show);
  show();
}

// Every table: its rows are sorted by a click on a head that the service does not sort by, and saved as CSV as they are
// shown.
(() => {
  const words = (cell) => cell.querySelector("time")?.dateTime || cell.textContent.trim().replace(/\s+/g, " ");
  const units = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
  // value is what a cell is sorted by: a number, with its unit, or its text.
  const value = (cell) => {
    const text = words(cell), m = /^([+−-]?[\d,]+(?:\.\d+)?)(?: (B|[KMGT]iB|%))?(?: .*)?$/.exec(text);
    return m && cell.classList.contains("num") ? Number(m[1].replaceAll(",", "").replace("−", "-")) * (units[m[2]] || 1) : text;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
  const sort = (table, head, column) => {
    const down = head.ariaSort ? head.ariaSort === "ascending" : head.classList.contains("num") || !!table.querySelector(`tbody td:nth-child(${column + 1}) time`);
    for (const th of head.parentElement.cells) th.removeAttribute("aria-sort");
    head.ariaSort = down ? "descending" : "ascending";
    const body = table.tBodies[0], rows = [...body.rows].map((row) => [value(row.cells[column]), row]);
    rows.sort(([a], [b]) => down ? compare(b, a) : compare(a, b));
    body.append(...rows.map(([, row]) => row));
  };
  // A cell that a spreadsheet would take for a formula gets an apostrophe, as in the CSV of reports.
  const quoted = (text) => `"${(/^[=+\-@]/.test(text) ? "'" : "") + text.replaceAll('"', '""')}"`;
  const csv = (table) => {
    const rows = [...table.rows].map((row) => [...row.cells]);
    const acts = (column) => rows.some((cells) => cells[column]?.querySelector("input, button:not(.sort)"));
    const kept = [...rows[0].keys()].filter((column) => !acts(column));
    return rows.map((cells) => kept.map((column) => quoted(words(cells[column]).replace(/ [↑↓]$/, ""))).join(",") + "\r\n").join("");
  };
  const save = (table, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
    link.download = name.toLowerCase().replace(/\W+/g, "-") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  const begin = (wrap) => {
    const table = wrap.querySelector("table.list");
    if (!table || wrap.dataset.begun) return;
    wrap.dataset.begun = "1";
    const name = wrap.getAttribute("aria-label") || document.getElementById(wrap.getAttribute("aria-labelledby"))?.textContent || "list";
    const rows = table.tBodies[0]?.rows || [];
    if (rows.length < 2) return;
    for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
      if (head.querySelector("a, input, .visually-hidden") || !head.textContent.trim()) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head, column));
      head.append(button);
    }
    const foot = Object.assign(document.createElement("p"), { className: "table-foot muted" });
    const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "CSV of what is shown" });
    button.append(Object.assign(document.createElement("span"), { className: "visually-hidden", textContent: ": " + name }));
    button.addEventListener("click", () => save(table, name));
    foot.append(button);
    wrap.after(foot);
  };
  const all = () => { for (const wrap of document.querySelectorAll("main .table-wrap")) if (!wrap.closest("#live")) begin(wrap); };
  all();
  document.addEventListener("htmx:afterSwap", all);
})();
