// Tables: sorting by a click on a heading, and download as CSV.
// Paper has no folds.
const folded = new Set();
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([open])")) {
    folded.add(details);
    details.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const details of folded) details.open = false;
  folded.clear();
});

function sortBy(button) {
  const heading = button.closest("th"), table = button.closest("table");
  const column = Number(button.dataset.column), body = table.tBodies[0];
  const descending = heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const value = row => {
    const text = row.cells[column].dataset.value;
    return text === "" ? (descending ? -Infinity : Infinity) : Number(text); // missing ones last
  };
  const sign = descending ? -1 : 1;
  body.append(...[...body.rows].sort((a, b) => sign * (value(a) - value(b)) || 0));
}

const quoted = text => /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;

// Every number with all its digits, each estimate followed by its standard error; layers count
// from 0, as in files.
function csvOf(table) {
  const rows = [...table.tBodies[0].rows];
  const names = [...table.querySelectorAll(".sort")].map(button => button.dataset.name);
  const header = names.flatMap((name, k) =>
    k === 0 ? [name] : [name, `${name} standard error`]);
  const lines = rows.map(row => [...row.cells].flatMap((cell, k) =>
    k === 0 ? [cell.dataset.value] : [cell.dataset.value, cell.dataset.error]));
  return [header, ...lines].map(line => line.map(quoted).join(",") + "\n").join("");
}

function download(button) {
  const table = document.getElementById(button.dataset.table);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csvOf(table)], {type: "text/csv"}));
  link.download = `${button.dataset.table}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

for (const button of document.querySelectorAll(".sort")) {
  button.addEventListener("click", () => sortBy(button));
}
for (const button of document.querySelectorAll(".csv")) {
  button.addEventListener("click", () => download(button));
}
