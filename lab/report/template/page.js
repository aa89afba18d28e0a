// What a page can do where scripts run; it can be read without. Nothing is fetched, nothing is kept.
"use strict";

const button = (words, said, act) => {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = words;
  made.setAttribute("aria-label", said);
  made.addEventListener("click", act);
  return made;
};

// Commands can be copied.
for (const code of navigator.clipboard ? document.querySelectorAll(".about code, dd code") : []) {
  const command = code.textContent;
  if (!command.startsWith("lab ")) continue;
  const copy = button("copy", `Copy ${command}`, async () => {
    await navigator.clipboard.writeText(command);
    copy.textContent = "copied";
  });
  code.after(" ", copy);
}

// Figures can be enlarged: a wide one is then moved sideways.
for (const figure of document.querySelectorAll("figure[id]")) {
  const place = figure.querySelector(".trace");
  if (!place) continue;
  const enlarge = button("larger", "Show the figure larger", () => {
    const is = figure.classList.toggle("larger");
    enlarge.textContent = is ? "smaller" : "larger";
    enlarge.setAttribute("aria-label", is ? "Show the figure smaller" : "Show the figure larger");
  });
  place.append(" ", enlarge);
}

// Tables of results can be sorted by a column, and back.
const key = (row, column) => {
  const order = row.cells[column].querySelector("[data-order]");
  if (order) return Number(order.dataset.order);
  const text = row.cells[column].textContent.trim().replace("−", "-").replace(/,(?=\d{3})/g, "");
  const scales = {n: 1e-9, µ: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9};
  const found = /^[≥≤<>]?\s*([+-]?\d+(?:\.\d+)?)\s*([nµmkMG](?=bit|s|B))?/.exec(text);
  return found ? Number(found[1]) * (scales[found[2]] ?? 1) : text;
};
for (const table of document.querySelectorAll("table.results, table.index, table.sorts")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const words = head.textContent;
    head.replaceChildren(
      button(words, `Sort by ${words}`, () => {
        const order = {ascending: "descending", descending: ""}[head.ariaSort] ?? "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        if (order) head.ariaSort = order;
        const sign = order === "descending" ? -1 : 1;
        const sorted = rows.map((row) => [key(row, column), row]);
        const compare = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
        if (order) sorted.sort(([a], [b]) => sign * compare(a, b));
        body.append(...sorted.map(([, row]) => row));
      }),
    );
  });
}

// Lists can be filtered by the properties of their items, which stand in data-* attributes, separated by "|".
for (const place of document.querySelectorAll("[data-filter]")) {
  const names = place.dataset.filter.split(" ");
  const items = [...document.querySelectorAll(names.map((name) => `[data-${name}]`).join(","))];
  const having = (item, name) => (item.dataset[name] ?? "").split("|").filter(Boolean);
  const form = document.createElement("form"), count = document.createElement("output");
  const field = (words, control) => {
    const label = document.createElement("label");
    label.append(words, control);
    form.append(label);
    control.addEventListener("input", () => show());
    return control;
  };
  const choices = names.map((name) => {
    const values = [...new Set(items.flatMap((item) => having(item, name)))].sort();
    const select = document.createElement("select");
    select.append(new Option("all", ""), ...values.map((value) => new Option(value, value)));
    return [name, values.length > 1 ? field(`${name[0].toUpperCase()}${name.slice(1)} `, select) : select];
  });
  const search = document.createElement("input");
  search.type = "search";
  field("Words ", search);
  const show = () => {
    const words = search.value.toLowerCase();
    for (const item of items) {
      const fits = choices.every(([name, select]) => !select.value || having(item, name).includes(select.value));
      item.hidden = !fits || !item.textContent.toLowerCase().includes(words);
    }
    const rows = items.filter((item) => item.tagName === "TR");
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} shown`;
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.append(count);
  place.append(form);
  show();
}

// The formula: a buffer and a round trip can be moved.
for (const figure of document.querySelectorAll(".formula")) {
  const line = Number(figure.dataset.line);
  const [buffer, trip] = figure.querySelectorAll("input");
  const show = () => {
    const bytes = Math.round(2 ** buffer.value), seconds = trip.value / 1000;
    const amount = (number, digits = 3) => number.toLocaleString("en", {maximumSignificantDigits: digits});
    figure.querySelector("[name=buffer]").textContent = `${bytes.toLocaleString("en")} B`;
    figure.querySelector("[name=trip]").textContent = `${trip.value} ms`;
    for (const row of figure.querySelectorAll("tbody tr")) {
      const window = bytes * row.dataset.share, goodput = Math.min((8 * window) / seconds, line);
      row.cells[1].textContent = `${Math.round(window).toLocaleString("en")} B`;
      row.cells[2].textContent = `${amount(goodput / 1e6)} Mbit/s${goodput === line ? ", the link" : ""}`;
    }
  };
  for (const input of [buffer, trip]) input.addEventListener("input", show);
  figure.querySelector("form").hidden = false;
}
