// Draws figures over time.

/** A small line with its area. The values are equidistant; the oldest is on the left. */
function sparkline(values, label, height = 34) {
  const width = 200;
  const top = Math.max(...values, 1);
  const points = values.length > 1 ? values : [0, 0];
  const x = (index) => (index / (points.length - 1) * width).toFixed(1);
  const y = (value) => (height - 2 - value / top * (height - 4)).toFixed(1);
  const line = points.map((value, index) => `${index === 0 ? "M" : "L"}${x(index)} ${y(value)}`).join("");
  return draw("svg", {
    class: "spark", viewBox: `0 0 ${width} ${height}`, height, preserveAspectRatio: "none", role: "img",
    "aria-label": label,
  },
  draw("path", { class: "area", d: `${line}L${width} ${height}L0 ${height}Z` }),
  draw("path", { class: "stroke", d: line }));
}

/** Fewer points: the mean of each group. */
function thinned(values, count) {
  if (values.length <= count) return values;
  const size = Math.ceil(values.length / count);
  const groups = [];
  for (let end = values.length; end > 0; end -= size) {
    const group = values.slice(Math.max(0, end - size), end);
    groups.unshift(group.reduce((sum, value) => sum + value, 0) / group.length);
  }
  return groups;
}

/** A round number that is at least `value`. */
function rounded(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((number) => number >= value);
}

/**
 * Stacked areas over the last hour.
 * series: [{ name, values }], each with one value for each step; at most six are told apart.
 */
function stackedChart(series, { stepSeconds, end, unit, label }) {
  const [width, height, bottom] = [1000, 210, 22];
  /** The pixels left of the picture, for the texts: the picture is stretched, and they are not. */
  const margin = 46;
  const count = Math.max(2, ...series.map((one) => one.values.length));
  const total = Array.from(
    { length: count },
    (_, index) => series.reduce((sum, one) => sum + (one.values[index] ?? 0), 0),
  );
  const top = rounded(Math.max(...total, 0.1));
  const x = (index) => index / (count - 1) * (width - 4);
  const y = (value) => height - bottom - value / top * (height - bottom - 12);
  const picture = draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
  );
  const base = new Array(count).fill(0);
  const bands = series.map((one, number) => {
    const low = base.map((value, index) => `${x(index).toFixed(1)} ${y(value).toFixed(1)}`);
    one.values.forEach((value, index) => { base[index] += value; });
    const high = base.map((value, index) => `${x(index).toFixed(1)} ${y(value).toFixed(1)}`);
    return draw("path", { class: `band tone-${number % 6 + 1}`, d: `M${high.join("L")}L${low.reverse().join("L")}Z` });
  });
  fill(picture, [
    [0, 0.5, 1].map((part) =>
      draw("line", { class: "grid", x1: 0, x2: width, y1: y(top * part), y2: y(top * part) })),
    bands,
  ]);
  // The texts are not in the picture, which is stretched.
  const chart = make("div", { class: "chart" }, picture);
  const texts = make("div", { class: "chart-texts", "aria-hidden": "true" });
  for (const part of [0, 0.5, 1]) {
    const text = make("span", { class: "chart-y" }, short(top * part));
    text.style.top = `${y(top * part) - 8}px`;
    texts.append(text);
  }
  const span = (count - 1) * stepSeconds;
  const time = (index) => new Date(new Date(end).getTime() - (count - 1 - index) * stepSeconds * 1000)
    .toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: span < 600 ? "2-digit" : undefined });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const text = make("span", { class: "chart-x" }, time(part * (count - 1)));
    text.style.left = `calc(${margin}px + (100% - ${margin}px) * ${x(part * (count - 1)) / width})`;
    texts.append(text);
  }
  chart.append(texts);

  const cursor = draw("line", { class: "cursor", y1: 10, y2: height - bottom, visibility: "hidden" });
  picture.append(cursor);
  const tip = make("div", { class: "tip", hidden: true });
  chart.append(tip);
  chart.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width * width / (width - 4);
    const index = Math.min(count - 1, Math.max(0, Math.round(part * (count - 1))));
    cursor.setAttribute("visibility", "visible");
    cursor.setAttribute("x1", x(index));
    cursor.setAttribute("x2", x(index));
    put(tip, make("strong", {}, time(index)),
      series.filter((one) => one.values[index] > 0).map((one) => make("div", { class: "row" },
        make("span", { class: `swatch tone-${series.indexOf(one) % 6 + 1}` }), isolated(one.name),
        make("span", { class: "spread" }, `${short(one.values[index])} ${unit}`))));
    tip.hidden = false;
    const at = x(index) / width * box.width;
    tip.style.left = at > box.width / 2 ? "auto" : `${margin + at + 12}px`;
    tip.style.right = at > box.width / 2 ? `${box.width - at + 12}px` : "auto";
  });
  chart.addEventListener("pointerleave", () => { tip.hidden = true; cursor.setAttribute("visibility", "hidden"); });
  return chart;
}

function legend(series, unit) {
  return make("ul", { class: "legend" }, series.map((one, number) => make("li", {},
    make("span", { class: `swatch tone-${number % 6 + 1}` }), isolated(one.name),
    make("span", { class: "muted" }, `${short(one.values.at(-1) ?? 0)} ${unit}`))));
}
