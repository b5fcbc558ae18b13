// The overview: health, what comes in, and how each destination does.

const tones = { up: "good", retrying: "warn", held: "warn", failing: "bad", stopped: "", starting: "" };
const waits = (destination) => ["retrying", "held", "failing"].includes(destination.state);

function overviewView() {
  const banner = make("div", {});
  const tiles = make("div", { class: "tiles" });
  const chartBody = make("div", { class: "body" });
  const table = make("tbody", {});
  const reasons = make("div", { class: "pair" });
  let grouping = "destination";
  const choices = [["destination", "By destination"], ["reason", "By reason"]].map(([id, title]) =>
    make("button", {
      type: "button", class: "quiet", "aria-pressed": id === grouping,
      onclick() {
        grouping = id;
        choices.forEach((one, index) =>
          one.setAttribute("aria-pressed", String(["destination", "reason"][index] === id)));
        showChart();
      },
    }, title));
  const subtitle = make("p", {});
  const view = make("section", { class: "view", "aria-label": "Overview" },
    make("header", {}, make("h1", {}, "Overview"), subtitle),
    banner, tiles,
    make("section", { class: "panel", "aria-labelledby": "delivery-title" },
      make("header", {},
        make("h2", { id: "delivery-title" }, "The last hour"), make("div", { class: "row spread" }, choices),
      ),
      chartBody),
    make("section", { class: "panel", "aria-labelledby": "destinations-title" },
      make("header", {}, make("h2", { id: "destinations-title" }, "Destinations")),
      make("div", { class: "scroll" }, make("table", {},
        make("thead", {}, make("tr", {},
          [
            "Destination", "State", "Delivered, last hour", "Per second", "Latency p99", "Lag", "Filtered",
            "Retries", "Dead letters", "",
          ].map(
            (title, index) => make("th", { scope: "col", class: index >= 3 && index <= 8 ? "number" : "" }, title)))),
        table))),
    reasons);

  function showBanner({ health, reasons: list, refused_reload: refused }) {
    if (health === "healthy") return put(banner);
    put(banner, make("div", { class: "notice warn", role: "alert" },
      make("strong", {}, list.length === 1 ? "Degraded for one reason" : `Degraded for ${list.length} reasons`),
      make("ul", {}, list.map((reason) => make("li", {}, isolated(reason)))),
      refused ? make("pre", {}, refused.errors.slice(0, 5).join("\n\n")) : null));
  }

  function showTiles(status) {
    const step = model.state.history?.step_seconds ?? 10;
    const rate = (match) => thinned(model.sum(match), 120).map((value) => value / step);
    const delivered = Object.values(status.destinations).reduce((sum, one) => sum + one.events_per_second, 0);
    const refused = Object.values(status.sources).reduce((sum, one) => sum + one.refused, 0);
    const letters = Object.values(status.destinations).reduce((sum, one) => sum + (one.dead_letters?.letters ?? 0), 0);
    const lag = Math.max(0, ...Object.values(status.destinations).map((one) => one.lag_seconds));
    const tile = (title, figure, small, tone, values) => make("section", { class: "panel tile" },
      make("h2", {}, title), make("p", { class: "figure" }, figure, " ", make("small", {}, small)),
      make("div", { class: tone }, sparkline(values, `${title} in the last hour`)));
    put(tiles,
      tile("Accepted", short(status.events_per_second), "events/s", "tone-1", rate((one) => one.figure === "accepted")),
      tile("Delivered", short(delivered), "events/s", "tone-2", rate((one) => one.figure === "delivered")),
      tile("Largest lag", seconds(lag), lag < 1.5 ? "all keep up" : "behind", "tone-3",
        thinned(model.sum((one) => one.figure === "lag"), 120)),
      tile("Refused", short(refused), "since the start", "tone-6", rate((one) => one.figure === "refused")),
      tile("Dead letters", short(letters), letters === 0 ? "none waits" : "wait for you", "tone-4",
        rate((one) => one.figure === "dead_lettered")));
  }

  function showChart() {
    const history = model.state.history;
    if (!history || history.next - history.first < 2) {
      put(chartBody, make("p", { class: "empty" }, "The history begins after the first 20 seconds."));
      return;
    }
    const groups = new Map();
    for (const one of history.series.values()) {
      let name = null;
      if (grouping === "destination") { if (one.figure === "delivered") name = one.name; }
      else if (one.figure === "filtered") name = `filtered: ${one.reason}`;
      else if (one.figure === "refused") name = `refused: ${one.reason}`;
      else if (one.figure === "dead_lettered") name = "dead letters";
      else if (one.figure === "retries") name = "retries";
      else if (one.figure === "delivered") name = "delivered";
      if (name === null) continue;
      const values = groups.get(name) ?? new Array(history.next - history.first).fill(0);
      one.values.forEach((value, index) => { values[index] += value / history.step_seconds; });
      groups.set(name, values);
    }
    let series = [...groups].map(([name, values]) => ({ name, values, sum: values.reduce((a, b) => a + b, 0) }))
      .sort((a, b) => b.sum - a.sum);
    if (series.length > 6) {
      const rest = series.slice(5);
      const values = rest[0].values.map((_, index) => rest.reduce((sum, one) => sum + one.values[index], 0));
      series = [...series.slice(0, 5), { name: `${rest.length} others`, values }];
    }
    const group = thinned(series[0]?.values ?? [], 240).length;
    series = series.map((one) => ({ ...one, values: thinned(one.values, 240) }));
    const stepSeconds = history.step_seconds * (history.next - history.first) / Math.max(group, 1);
    put(chartBody,
      stackedChart(series, {
        stepSeconds, end: history.end, unit: "/s",
        label: "Events per second in the last hour, "
          + (grouping === "destination" ? "by destination" : "by what became of them"),
      }),
      legend(series, "/s now"));
  }

  const rows = new Map();
  function showDestinations(status) {
    const names = Object.keys(status.destinations).sort();
    for (const [name, row] of rows) if (!(name in status.destinations)) { row.element.remove(); rows.delete(name); }
    for (const name of names) {
      const destination = status.destinations[name];
      const about = model.state.routing?.destinations[name];
      let row = rows.get(name);
      if (!row) {
        row = {
          element: make("tr", {}),
          cells: Array.from(
            { length: 10 },
            (_, index) => make("td", { class: index >= 3 && index <= 8 ? "number" : "" }),
          ),
          text: "",
        };
        row.element.append(...row.cells);
        rows.set(name, row);
        // A reload may add a destination between others.
        const later = names.slice(names.indexOf(name) + 1).find((one) => rows.has(one));
        table.insertBefore(row.element, later === undefined ? null : rows.get(later).element);
      }
      const values = thinned(
        model.sum((one) => one.owner === "destination" && one.name === name && one.figure === "delivered"),
        60,
      );
      const letters = destination.dead_letters?.letters ?? 0;
      const text = JSON.stringify([destination, about, values]);
      if (text === row.text) continue;
      row.text = text;
      const [title, state, spark, rate, latency, lag, filtered, retries, dead, action] = row.cells;
      put(title, make("div", { class: "destination-name" }, make("strong", {}, isolated(name)),
        about ? make("small", { title: about.target },
          `${about.preset ?? about.kind} · `, isolated(about.target.replace(/^https?:\/\//, "")),
        ) : null));
      put(state, pill(destination.state, tones[destination.state]),
        waits(destination) && destination.last_error
          ? make("p", { class: "last-error" }, isolated(destination.last_error),
            destination.next_attempt_seconds > 0
              ? ` · next attempt in ${seconds(destination.next_attempt_seconds)}` : "") : null);
      put(spark, make("div", { class: "tone-2" }, sparkline(values, `${name}: delivered in the last hour`, 26)));
      put(rate, short(destination.events_per_second));
      put(latency, destination.latency_seconds ? duration(destination.latency_seconds.p99)
        : make("span", { class: "muted" }, "–"));
      put(lag, destination.lag_events === 0 ? make("span", { class: "muted" }, "none")
        : [short(destination.lag_events), make("span", { class: "muted" }, ` · ${seconds(destination.lag_seconds)}`)]);
      put(filtered, short(destination.filtered));
      put(retries, short(destination.retries));
      put(dead, letters === 0 ? make("span", { class: "muted" }, "0")
        : make("a", { href: `#letters/${encodeURIComponent(name)}` }, short(letters)));
      // A focused button is not replaced while it is used.
      if (!action.contains(document.activeElement) || !waits(destination)) {
        put(action, waits(destination) ? make("button", {
          type: "button", class: "quiet",
          async onclick(event) {
            event.target.disabled = true;
            try {
              await daemon.post("/resume", {}, { destination: name });
              announce(`${name} tries again now`);
            } catch (error) { announce(error.message); }
            event.target.disabled = false;
          },
        }, "Try now") : null);
      }
    }
  }

  function showReasons(status) {
    const count = new Map();
    const add = (kind, reason, number) => {
      const key = `${kind}: ${reason}`;
      count.set(key, (count.get(key) ?? 0) + number);
    };
    for (const [name, destination] of Object.entries(status.destinations)) {
      for (const [reason, number] of Object.entries(destination.filtered_by_reason)) add(name, reason, number);
    }
    const refused = new Map();
    for (const [name, source] of Object.entries(status.sources)) {
      for (
        const [reason, number] of Object.entries(source.refused_by_reason)
      ) refused.set(`${name}: ${reason}`, number);
    }
    const list = (title, map, tone, empty) => {
      const entries = [...map].sort((a, b) => b[1] - a[1]).slice(0, 8);
      const top = entries[0]?.[1] ?? 1;
      return make("section", { class: "panel" }, make("header", {}, make("h2", {}, title)),
        make("div", { class: "body" }, entries.length === 0 ? make("p", { class: "muted" }, empty)
          : make("ul", { class: "reasons" }, entries.map(([key, number]) => {
            const part = make("i");
            part.style.width = `${number / top * 100}%`;
            return make("li", {},
              isolated(key), make("span", { class: `bar ${tone}` }, part), make("span", {}, short(number)),
            );
          }))));
    };
    put(reasons, list("Why destinations left events out", count, "tone-2", "No destination has left an event out."),
      list("Why sources refused events", refused, "tone-6", "No source has refused an event."));
  }

  function showAll(what) {
    const { status } = model.state;
    if (!status) return;
    put(subtitle, plural(Object.keys(status.sources).length, "source"), ", ",
      plural(Object.keys(status.destinations).length, "destination"), " · journal ", bytes(status.journal.bytes), ", ",
      status.journal.state, ` · penstock ${status.version}, up ${seconds(status.uptime_seconds)}`);
    showBanner(status);
    showTiles(status);
    showDestinations(status);
    showReasons(status);
    if (what !== "status") showChart();
  }
  const stop = model.watch(showAll);
  showAll("history");
  return { view, stop };
}
