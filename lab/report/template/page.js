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

const copying = (code, said) => {
  const copy = button("copy", said, async () => {
    await navigator.clipboard.writeText(code.textContent);
    copy.textContent = "copied";
  });
  return copy;
};

// Commands can be copied.
for (const code of navigator.clipboard ? document.querySelectorAll(".about code, dd code") : []) {
  const command = code.textContent;
  if (!/^lab \S+ \S/.test(command)) continue; // a command's name alone is not worth copying
  code.after(" ", copying(code, `Copy ${command}`));
}

// An entry for a list of references has the address of the page, where the page has one.
for (const entry of location.protocol.startsWith("http") ? document.querySelectorAll("code.bibtex") : []) {
  const url = new URL(entry.dataset.page, location.href);
  entry.textContent = entry.textContent.replace(/\}\s*$/, `  url = {${url.href}},\n}`);
}
for (const entry of navigator.clipboard ? document.querySelectorAll("code.bibtex") : []) {
  entry.parentElement.before(copying(entry, "Copy the BibTeX entry"));
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

// A line tells that a part is wider than the screen.
for (const part of document.querySelectorAll(".scroll")) {
  const hint = document.createElement("p");
  hint.className = "sideways";
  hint.textContent = "wider than the screen: scroll sideways →";
  hint.setAttribute("aria-hidden", "true"); // a screen reader reads all of it anyway
  part.before(hint);
  new ResizeObserver(() => { hint.hidden = part.scrollWidth <= part.clientWidth; }).observe(part);
}

// Folded figures are open where half of them fills room beside the words that would otherwise be empty.
for (const pair of document.querySelectorAll(".pair")) {
  for (const fold of pair.querySelectorAll(":scope > .shown > details")) {
    const height = pair.offsetHeight;
    fold.open = true;
    if (pair.offsetHeight - height > fold.offsetHeight / 2) fold.open = false;
  }
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

// Values under the pointer: of the nearest point of a figure, and of every line of a chart over time.
const drawn = (name, attributes, parent) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
};
const amount = (number, unit = "") => {
  const size = Math.abs(number);
  const [scale, sign] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([least]) => size >= least && /bit|^B/.test(unit)) ?? [1, ""];
  return `${(number / scale).toLocaleString("en", {maximumSignificantDigits: 3})} ${sign}${unit}`.trim();
};
const pointed = (svg, event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
const line = (figure) => {
  const made = document.createElement("p");
  made.className = "under";
  made.textContent = "\u00a0";
  figure.querySelector("svg").after(made);
  return made;
};
for (const figure of document.querySelectorAll("figure[data-values]")) {
  const svg = figure.querySelector("svg"), said = line(figure);
  const panels = JSON.parse(figure.dataset.values);
  const mark = drawn("circle", {r: 5, fill: "none", stroke: "var(--ink)", "stroke-width": 1.5, visibility: "hidden"}, svg);
  const value = ([low, high, isLog], from, to, at) => {
    const found = low + ((high - low) * (at - from)) / (to - from);
    return isLog ? 10 ** found : found;
  };
  svg.addEventListener("pointermove", (event) => {
    const {x, y} = pointed(svg, event);
    let nearest = null;
    for (const panel of panels) {
      const [[left, bottom], [right, top]] = panel.box;
      if (y < Math.min(top, bottom) - 8 || y > Math.max(top, bottom) + 8) continue;
      for (const [name, points] of panel.lines) {
        for (const [px, py] of points) {
          const away = Math.hypot(px - x, py - y);
          if (!nearest || away < nearest.away) nearest = {away, name, px, py, panel, left, bottom, right, top};
        }
      }
    }
    mark.setAttribute("visibility", nearest ? "visible" : "hidden");
    if (!nearest) return;
    const {name, px, py, panel, left, bottom, right, top} = nearest;
    mark.setAttribute("cx", px);
    mark.setAttribute("cy", py);
    const shown = [value(panel.axes[0], left, right, px), value(panel.axes[1], bottom, top, py)];
    const named = panel.names.map((axis, index) => (axis ? `${axis}: ${amount(shown[index])}` : "")).filter(Boolean);
    said.textContent = `${name}${name ? " — " : ""}${named.join("; ")}`;
  });
}

// A chart over time: the values of all lines at the pointer's time, and a part of the time after dragging.
for (const chart of document.querySelectorAll("svg.chart[data-low]")) {
  const figure = chart.closest("figure"), plots = [...chart.querySelectorAll("svg.plot")];
  if (!figure || !plots.length) continue;
  const said = line(figure), times = chart.querySelector(".times"), whole = [Number(chart.dataset.low), Number(chart.dataset.high)];
  const box = plots[0].viewBox.baseVal, left = box.x, width = box.width;
  const steps = times.firstElementChild?.cloneNode();
  const y = Number(steps?.getAttribute("y") ?? 0);
  const lines = plots.flatMap((plot) => {
    const {y: top, height} = plot.viewBox.baseVal, {least, most, unit} = plot.dataset;
    return [...plot.querySelectorAll("path[data-name]")].map((path) => {
      const found = [];
      let at = 0;
      for (const [, sign, first, second] of path.getAttribute("d").matchAll(/([MHV])([-\d.]+)(?: ([-\d.]+))?/g)) {
        if (sign !== "V") at = Number(first);
        if (sign !== "H") found.push([at, Number(sign === "M" ? second : first)]);
      }
      const value = (place) => Number(most) - ((place - top) / height) * (most - least);
      return {name: path.dataset.name, unit, points: found.map(([x, place]) => [x, value(place)])};
    });
  });
  const cursors = plots.map((plot) => {
    const {y: top, height} = plot.viewBox.baseVal;
    const attributes = {y1: top, y2: top + height, stroke: "var(--muted)", "vector-effect": "non-scaling-stroke", visibility: "hidden"};
    return drawn("line", attributes, plot);
  });
  const band = drawn("rect", {y: 0, height: chart.viewBox.baseVal.height, fill: "var(--arm-1)", opacity: 0.15, visibility: "hidden"}, chart);
  let view = [left, width], start = null;
  const inView = (x) => view[0] + ((x - left) * view[1]) / width;
  const time = (x) => whole[0] + ((x - left) / width) * (whole[1] - whole[0]);
  const zoom = (from, size) => {
    const wide = Math.min(width, Math.max(size, width / 500));
    view = [Math.min(left + width - wide, Math.max(left, from)), wide];
    for (const plot of plots) plot.viewBox.baseVal.x = view[0], plot.viewBox.baseVal.width = view[1];
    const [low, high] = [time(view[0]), time(view[0] + view[1])], rough = (high - low) / 4, scale = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((each) => each * scale).find((each) => each >= rough);
    times.replaceChildren();
    for (let tick = Math.ceil(low / step); tick * step <= high; tick++) {
      const text = steps.cloneNode();
      text.setAttribute("x", left + ((tick * step - low) / (high - low)) * width);
      text.setAttribute("y", y);
      text.textContent = Number((tick * step).toPrecision(9));
      times.append(text);
      const most = chart.viewBox.baseVal.width - text.getComputedTextLength() / 2; // else the drawing cuts it
      if (text.getAttribute("x") > most) text.setAttribute("x", most);
    }
    back.hidden = view[1] === width;
  };
  const back = button("whole trial", "Show the whole trial", () => zoom(left, width));
  const closer = button("zoom in", "zoom in to half of the time", () => zoom(view[0] + view[1] / 4, view[1] / 2));
  const earlier = button("←", "Show earlier times", () => zoom(view[0] - view[1] / 2, view[1]));
  const later = button("→", "Show later times", () => zoom(view[0] + view[1] / 2, view[1]));
  const buttons = document.createElement("p");
  buttons.className = "zoom";
  buttons.append(closer, " ", earlier, " ", later, " ", back, " or drag over the chart; values are under the pointer");
  said.after(buttons);
  back.hidden = true;
  chart.addEventListener("pointermove", (event) => {
    const x = Math.min(left + width, Math.max(left, pointed(chart, event).x)), at = inView(x);
    for (const cursor of cursors) {
      for (const end of ["x1", "x2"]) cursor.setAttribute(end, at);
      cursor.setAttribute("visibility", "visible");
    }
    const values = lines.map(({name, unit, points}) => {
      const last = points.findLast(([place]) => place <= at);
      return last ? `${name} ${amount(last[1], unit)}` : "";
    });
    said.textContent = [`${time(at).toFixed(3)} s`, ...values.filter(Boolean)].join(" · ");
    if (start === null) return;
    band.setAttribute("x", Math.min(start, x));
    band.setAttribute("width", Math.abs(start - x));
    band.setAttribute("visibility", "visible");
  });
  chart.addEventListener("pointerdown", (event) => {
    start = Math.min(left + width, Math.max(left, pointed(chart, event).x));
    event.preventDefault();
  });
  addEventListener("pointerup", (event) => {
    if (start === null) return;
    const end = Math.min(left + width, Math.max(left, pointed(chart, event).x)), size = Math.abs(end - start);
    if (size > 4) zoom(inView(Math.min(start, end)), (size * view[1]) / width);
    start = null;
    band.setAttribute("visibility", "hidden");
  });
}
