// What the page does: theme, folding trees, choosing a tree, sorting tables.
const $$ = (what, where = document) => [...where.querySelectorAll(what)];
const root = document.documentElement;
$$(".theme").forEach(button => button.onclick = () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  button.setAttribute("aria-pressed", String(!dark));
});
const fold = open => $$(".tree:not([hidden]) details").forEach((d, i) => { d.open = open || i === 0 });
$$(".fold").forEach(button => button.onclick = () => fold(button.classList.contains("open")));
$$(".pick").forEach(pick => pick.onchange = () =>
  $$(".tree").forEach((tree, t) => { tree.hidden = t !== Number(pick.value) }));
document.addEventListener("keydown", event => {
  const here = event.target;
  if (here.tagName !== "SUMMARY") return;
  const details = here.parentElement;
  const seen = $$("summary", here.closest(".tree")).filter(s => s.checkVisibility());
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) (seen[seen.indexOf(here) + step] || here).focus();
  else if (event.key === "ArrowRight") details.open = true;
  else if (event.key === "ArrowLeft" && details.open) details.open = false;
  else if (event.key === "ArrowLeft") (details.parentElement.closest("details") || details).firstElementChild.focus();
  else return;
  event.preventDefault();
});
const value = cell => {
  const text = cell.textContent.trim().replace(/,/g, "").replace("−", "-").replace("none", "0").replace(/^[<>] /, "");
  return text !== "" && !isNaN(parseFloat(text)) ? parseFloat(text) : cell.textContent.toLowerCase();
};
$$("table.sort").forEach(table => $$("thead th", table).forEach((head, column) => {
  const sort = () => {
    const up = head.getAttribute("aria-sort") === "descending";
    $$("th", table).forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = $$("tbody tr", table).map(row => [value(row.cells[column]), row]);
    rows.sort(([a], [b]) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? 1 : -1) * (up ? 1 : -1));
    rows.forEach(([, row]) => row.parentElement.append(row));
  };
  head.tabIndex = 0;
  head.onclick = sort;
  head.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } };
}));
addEventListener("beforeprint", () => $$(".scroll").forEach(part => { part.scrollTop = 0 }));
