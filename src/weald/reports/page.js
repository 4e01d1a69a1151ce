// What the page does: theme, folding trees, choosing a tree or a class, sorting tables, downloading them.
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
$$(".classes").forEach(part => part.querySelector("select").onchange = event =>
  $$(".of-class", part).forEach((shown, k) => { shown.hidden = k !== Number(event.target.value) }));
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
  const text = cell.textContent.trim().replace(/,/g, "").replace(/−/g, "-").replace("none", "0").replace(/^[<>] /, "");
  return text !== "" && !isNaN(parseFloat(text)) ? parseFloat(text) : cell.textContent.toLowerCase();
};
$$("main table:not(.confusion)").forEach(table => $$("thead th", table).forEach((head, column) => {
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
const quoted = text => /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
$$("main table").forEach(table => {
  const button = document.createElement("button");
  button.className = "csv";
  button.type = "button";
  button.textContent = "CSV";
  button.title = "Download this table";
  const title = table.caption.textContent;
  button.onclick = () => {
    const lines = $$("tr", table).map(row => [...row.cells].map(cell =>
      quoted((cell.querySelector("bdi[title]")?.title || cell.innerText).trim().replace(/\s+/g, " "))).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = title.replace(/\W+/g, "-").toLowerCase() + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  table.caption.append(button);
});
$$(".thresholds").forEach(part => {
  const [hits, alarms] = [part.dataset.hits, part.dataset.alarms].map(text => JSON.parse(text));
  const [slider, outcome] = [part.querySelector(".threshold"), part.querySelector(".outcome")];
  const prices = $$(".price", part);
  const round = n => Number(n.toPrecision(6)).toLocaleString("en");
  const rate = (n, of) => of ? (100 * n / of).toFixed(1) + " %" : "unknown";
  const cost = t => alarms[t] * prices[0].value + (hits[0] - hits[t]) * prices[1].value;
  const show = () => {
    const t = Number(slider.value);
    outcome.textContent = `Threshold ${t / 100}: ${round(hits[t])} of ${round(hits[0])} rows of class ${part.dataset.label} found ` +
      `(recall ${rate(hits[t], hits[0])}), ${round(alarms[t])} others predicted as it ` +
      `(precision ${rate(hits[t], hits[t] + alarms[t])}). Cost ${round(cost(t))}.`;
  };
  slider.oninput = show;
  prices.forEach(price => { price.oninput = show });
  part.querySelector(".cheapest").onclick = () => {
    slider.value = hits.reduce((best, _, t) => cost(t) < cost(best) ? t : best, 0);
    show();
  };
  show();
});
addEventListener("beforeprint", () => $$(".scroll").forEach(part => { part.scrollTop = 0 }));
