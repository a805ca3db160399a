"use strict";
// Tables are sorted by a click on a column's name; without this script they are only not sortable.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const rows = [...body.rows];
      const isNumber = rows.some((row) => row.cells[column].dataset.value !== undefined);
      // Numbers start with the largest, names with the first.
      const first = isNumber ? "descending" : "ascending";
      const second = isNumber ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const key = (row) => {
        const cell = row.cells[column];
        return isNumber ? parseFloat(cell.dataset.value) : cell.textContent;
      };
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (!isNumber) return sign * x.localeCompare(y);
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return sign * (x - y);
      });
      body.append(...rows);
    });
  });
}
// What is folded on the screen is unfolded on paper, and folded again after it.
let unfolded = [];
window.addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:not([open])")];
  unfolded.forEach((each) => { each.open = true; });
});
window.addEventListener("afterprint", () => unfolded.forEach((each) => { each.open = false; }));
