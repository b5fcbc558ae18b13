// The graph of routing: sources, routes and destinations. The same picture is the map of an event's journey.

/**
 * columns: three lists of { id, title, detail, tone, isOff, isTaken }; pipes: [{ from, to, kind, flows }].
 */
function graph(columns, pipes, titles, label, width = 1060) {
  const isWide = width > 800;
  const [boxWidth, boxHeight, gap, top] = [isWide ? 240 : 160, 50, 16, 34];
  const tallest = Math.max(1, ...columns.map((column) => column.length));
  const height = top + tallest * (boxHeight + gap);
  const places = new Map();
  columns.forEach((column, number) => {
    const x = 4 + number * (width - boxWidth - 8) / (columns.length - 1);
    const offset = (tallest - column.length) * (boxHeight + gap) / 2;
    column.forEach((node, index) => places.set(node.id, { x, y: top + offset + index * (boxHeight + gap) }));
  });
  const clipped = (text, length) => (text.length > length ? text.slice(0, Math.floor(length) - 1) + "…" : text);
  const path = ({ from, to }) => {
    const [a, b] = [places.get(from), places.get(to)];
    const [x1, y1, x2, y2] = [a.x + boxWidth, a.y + boxHeight / 2, b.x, b.y + boxHeight / 2];
    const bend = (x2 - x1) / 2;
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  };
  const known = pipes.filter((pipe) => places.has(pipe.from) && places.has(pipe.to));
  return make("div", { class: isWide ? "graph wide" : "graph" }, draw("svg", {
    viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label,
  },
    titles.map((title, number) =>
      draw("text", { class: "column", x: 4 + number * (width - boxWidth - 8) / (columns.length - 1), y: 16 }, title)),
    known.map((pipe) => draw("path", { class: `pipe ${pipe.kind ?? ""}`, d: path(pipe) })),
    known.filter((pipe) => pipe.flows).map((pipe) => draw("path", { class: "flow", d: path(pipe) })),
    columns.flatMap((column, number) => column.map((node) => {
      const { x, y } = places.get(node.id);
      const box = draw("g", {
        class: ["node", number === 1 && "route", node.tone, node.isOff && "off", node.isTaken && "taken"]
          .filter(Boolean).join(" "),
        transform: `translate(${x} ${y})`,
      },
        draw("title", {}, `${node.title}: ${node.full ?? node.detail}`),
        draw("rect", { width: boxWidth, height: boxHeight, rx: number === 1 ? 25 : 9 }),
        draw("text", { x: 16, y: 21 }, clipped(node.title, boxWidth / 8.4)),
        draw("text", { class: "detail", x: 16, y: 38 }, clipped(node.detail, boxWidth / 6.5)));
      return box;
    }))));
}

function routingView() {
  const picture = make("div", { class: "body" });
  const list = make("div", { class: "stack" });
  const view = make("section", { class: "view", "aria-label": "Routing" },
    make("header", {},
      make("h1", {}, "Routing"),
      make("p", {}, "Each destination gets an event once, through the first route that matches."),
    ),
    make("section", { class: "panel" }, picture), list);

  function showPicture() {
    const { routing, status, rates } = model.state;
    if (!routing || !status) return;
    const perSecond = (number) => `${short(number)} events/s`;
    const sources = routing.sources.map((source) => {
      const now = status.sources[source.name];
      return {
        id: `s ${source.name}`, title: source.name, tone: now?.state ? tones[now.state] : "good",
        detail: `${source.plugin ? source.plugin + " · " : ""}${perSecond(rates[source.name] ?? 0)}`,
      };
    });
    const routes = routing.routes.map((route) => ({
      id: `r ${route.name}`, title: route.name, detail: route.where ?? "every event", full: route.where
        ?? "every event",
    }));
    const destinations = Object.entries(routing.destinations).sort().map(([name, one]) => {
      const now = status.destinations[name];
      const rate = perSecond(now?.events_per_second ?? 0);
      return {
        id: `d ${name}`, title: name, tone: tones[now?.state] ?? "",
        detail: now && now.state !== "up"
          ? `${now.state} · ${now.last_error ?? rate}` : `${one.preset ?? one.kind} · ${rate}`,
      };
    });
    const pipes = [];
    for (const source of routing.sources) {
      for (const route of routing.routes) {
        pipes.push({ from: `s ${source.name}`, to: `r ${route.name}`, kind: rates[source.name] > 0 ? "live" : "" });
      }
    }
    for (const route of routing.routes) {
      for (const name of route.to) {
        const now = status.destinations[name];
        const isStuck = now && waits(now);
        pipes.push({
          from: `r ${route.name}`, to: `d ${name}`, flows: now?.events_per_second > 0,
          kind: isStuck ? "stuck" : now?.events_per_second > 0 ? "live" : "",
        });
      }
    }
    const shape = JSON.stringify([sources, routes, destinations, pipes]);
    if (shape === picture.shape) return;
    picture.shape = shape;
    put(picture, graph([sources, routes, destinations], pipes, ["Sources", "Routes, in order", "Destinations"],
      `${routing.sources.length} sources, ${routing.routes.length} routes, ${destinations.length} destinations`));
  }

  function showList() {
    const { routing } = model.state;
    if (!routing) return;
    const steps = (texts) => (texts.length === 0 ? make("span", { class: "muted" }, "none")
      : texts.map((text) => make("div", {}, make("code", {}, text))));
    put(list, routing.pipeline.length > 0 ? make("p", { class: "notice" },
      make("strong", {}, "Before routing, every event passes:"), steps(routing.pipeline),
    ) : null,
      make("section", { class: "panel" }, make("header", {}, make("h2", {}, "Routes")),
        make("div", { class: "scroll" }, make("table", {},
          make("thead", {},
            make("tr", {}, ["Route", "Filter", "Transforms", "To"].map((title) => make("th", { scope: "col" }, title))),
          ),
          make("tbody", {}, routing.routes.map((route) => make("tr", {},
            make("td", {}, make("strong", {}, isolated(route.name))),
            make("td", {},
              route.where ? make("code", {}, route.where) : make("span", { class: "muted" }, "every event"),
            ),
            make("td", {}, steps(route.transforms)),
            make("td", {}, route.to.map((name) => [pill(name), " "])))))))));
  }

  const show = (what) => { showPicture(); if (what !== "status") showList(); };
  const stop = model.watch(show);
  show("routing");
  return { view, stop };
}
