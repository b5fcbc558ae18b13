// The live debugger: events as they pass, a filter, and the journey of the chosen one.

const stageTones = { accepted: "info", routed: "accent", sent: "good", refused: "bad" };

/** A filter's input, which shows the fault of what is typed, and its place. */
function filterField(label, onChange, initial = "") {
  const fault = make("pre", { class: "fault", id: `fault-${filterField.count += 1}`, role: "alert" });
  const input = make("input", {
    type: "text", class: "code", "aria-label": label, "aria-describedby": fault.id, spellcheck: "false",
    autocomplete: "off",
    placeholder: 'every event · or type = "track" and properties.total > 100', value: initial, maxlength: "4000",
  });
  let round = 0;
  let timer = null;
  let valid = initial;
  /** Whether what is typed is valid, and in use. Nothing that depends on the filter is done before that is known. */
  async function check() {
    clearTimeout(timer);
    const text = input.value.trim();
    const mine = (round += 1);
    let report = { fault: null };
    if (text !== "") {
      try { report = await daemon.get("/filter", { where: text }); } catch (error) {
        report = { fault: { column: 0, length: 0, message: error.message } };
      }
    }
    if (mine !== round) return false;
    if (report.fault) showFault(text, report.fault);
    else put(fault);
    input.setAttribute("aria-invalid", String(Boolean(report.fault)));
    if (report.fault) return false;
    if (text !== valid) { valid = text; onChange(text); }
    return true;
  }
  /** The place counts bytes of UTF-8. */
  function showFault(text, { column, length, message, hint }) {
    const encoded = new TextEncoder().encode(text);
    const part = (from, to) => new TextDecoder().decode(encoded.slice(from, to));
    const before = [...part(0, column)].length;
    const marked = Math.max(1, [...part(column, column + length)].length);
    put(fault, text, "\n", " ".repeat(before) + "^" + "~".repeat(marked - 1), ` ${message}`, hint ? `\n${hint}` : "");
  }
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(check, 250); });
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") check(); });
  return {
    element: make("div", { class: "filter field" }, make("div", { class: "filter-line" }, input), fault),
    input, text: () => valid, check,
  };
}
filterField.count = 0;

function debuggerView() {
  /** The most records that are kept and shown. */
  const most = 400;
  /** The most new records that one frame shows; of more, the latest. */
  const mostInFrame = 40;
  const stages = new Set(["accepted", "refused"]);
  let records = [];
  let waiting = [];
  let isPaused = false;
  let skipped = 0;
  let missed = 0;
  let shown = 0;
  let chosen = null;
  let frame = 0;
  let abort = null;
  let isGone = false;
  let pending = 0;
  const rows = new Map();

  const list = make("div", {
    class: "stream", role: "listbox", tabindex: "0", "aria-label": "Events as they pass, the newest first",
    onkeydown: onListKey,
  });
  const empty = make("p", { class: "empty" }, "Waiting for events. They appear here as they pass.");
  list.append(empty);
  const counters = make("p", { class: "counters" });
  const pause = make(
    "button",
    {
      type: "button", class: "quiet", onclick: () => setPaused(!isPaused), "aria-keyshortcuts": "p",
      "aria-pressed": "false",
    },
    "Pause ", make("kbd", {}, "p"),
  );
  const filter = filterField("Filter of events (FQL)", restart);
  const fault = make("p", { class: "fault", role: "alert" });
  const destination = make("select", { "aria-label": "Destination", onchange: restart },
    make("option", { value: "" }, "all destinations"),
  );
  const stageButtons = Object.keys(stageTones).map((stage) => make("button", {
    type: "button", class: "quiet", "aria-pressed": String(stages.has(stage)),
    title: {
      accepted: "A source's event is on disk",
      routed: "A destination has decided about an event",
      sent: "A destination was given an event, and has answered",
      refused: "A source has refused an event, or it has become a dead letter",
    }[stage],
    onclick(event) {
      if (stages.has(stage) && stages.size > 1) stages.delete(stage); else stages.add(stage);
      event.currentTarget.setAttribute("aria-pressed", String(stages.has(stage)));
      restart();
    },
  }, stage));
  const side = make("div", { class: "journey-place" });
  const split = make("div", { class: "debugger" },
    make("section", { class: "panel", "aria-label": "Events" },
      make("div", { class: "toolbar" },
        filter.element,
        make("div", { class: "row" }, make("div", { class: "row", role: "group", "aria-label": "Stages" },
          stageButtons,
        ), destination,
          make("span", { class: "spread row" },
            pause,
            make("button", { type: "button", class: "quiet", onclick: clear }, "Clear"),
          )),
        fault, counters),
      list));
  const view = make("section", { class: "view", "aria-label": "Debugger" },
    make("header", {},
      make("h1", {}, "Debugger"),
      make("p", {}, "Events as they pass. Choose one to see its journey."),
    ), split);

  // The stream

  async function listen() {
    const mine = new AbortController();
    abort = mine;
    put(fault);
    const query = { stage: [...stages].join(","), where: filter.text(), destination: destination.value, rate: 200 };
    if (destination.value && stages.has("accepted")) {
      const others = [...stages].filter((stage) => stage !== "accepted");
      query.stage = (others.length > 0 ? others : ["sent"]).join(",");
    }
    while (!mine.signal.aborted) {
      try {
        await daemon.stream("/tap", query, take, mine.signal);
      } catch (error) {
        if (mine.signal.aborted) return;
        put(fault, error.message);
        if (error.status === 400 || error.status === 401 || error.status === 404) return;
      }
      await new Promise((resolve) => { setTimeout(resolve, 2000); });
    }
  }

  /** The daemon notices the end of a tap after a moment, and allows only a few at a time. */
  function restart() {
    abort?.abort();
    clear();
    clearTimeout(pending);
    pending = setTimeout(() => { if (!isGone) listen(); }, 200);
  }

  function take(parts) {
    if (fault.hasChildNodes()) put(fault);
    for (const line of parts) {
      if (line.startsWith('{"stage":')) {
        shown += 1;
        if (isPaused) { skipped += 1; continue; }
        waiting.push(line);
      } else if (line) {
        const notice = JSON.parse(line);
        if (notice.missed !== undefined) missed = notice.missed;
        if (notice.ended) put(fault, `the stream has ended: ${notice.ended}`);
      }
    }
    if (waiting.length > most) waiting = waiting.slice(-most);
    if (waiting.length > 0 && frame === 0) frame = requestAnimationFrame(show);
  }

  // The list

  function show() {
    frame = 0;
    const lot = waiting.slice(-mostInFrame);
    waiting = [];
    empty.remove();
    const isAtTop = list.scrollTop < 4;
    const before = list.scrollTop;
    for (const line of lot) {
      const record = read(line);
      record.row = row(record);
      records.unshift(record);
      list.prepend(record.row);
    }
    while (records.length > most) forget(records.pop());
    // Who reads farther down keeps the place. The rows of a narrow window are higher.
    if (!isAtTop) list.scrollTop = before + lot.length * list.firstElementChild.offsetHeight;
  }

  function forget(record) {
    rows.delete(record.row);
    record.row.remove();
    if (record === chosen) list.removeAttribute("aria-activedescendant");
  }

  function read(line) {
    // The event is the last member; its quotes within other texts are escaped.
    const at = line.indexOf(',"event":');
    const record = JSON.parse(at < 0 ? line : line.slice(0, at) + "}");
    record.raw = at < 0 ? null : line.slice(at + 9, -1);
    try { record.event = record.raw === null ? null : JSON.parse(record.raw); } catch { record.event = null; }
    return record;
  }

  const clip = (value) => {
    const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
    return text.length > 160 ? text.slice(0, 160) + "…" : text;
  };

  function row(record) {
    const event = record.event !== null && typeof record.event === "object" ? record.event : {};
    const what = record.stage === "refused" && record.event === null
      ? record.reason : event.event ?? event.name ?? event.type ?? record.raw ?? "";
    const outcome = record.outcome && record.outcome !== "routed"
      ? `${record.outcome}${record.reason ? ": " + record.reason : ""}`
      : record.stage === "refused" && record.event !== null ? record.reason ?? "" : "";
    const tone = { retry: "warn", held: "warn", filtered: "warn", rejected: "bad", too_large: "bad" }[record.outcome];
    const element = make("div", {
      class: "event", role: "option", id: `event-${row.count += 1}`, "aria-selected": "false",
    },
      make("time", {}, clock(record.received_at ?? record.time)),
      pill(record.stage, tone ?? stageTones[record.stage]),
      isolated(clip(record.destination ? `→ ${record.destination}` : record.source ?? "")),
      make("span", { class: "name" }, isolated(clip(what))),
      make("span", {}, isolated(clip(event.userId ?? event.anonymousId ?? ""))),
      make("span", { class: "muted" }, isolated(clip(outcome || record.detail || (event.type ?? "")))));
    rows.set(element, record);
    return element;
  }
  row.count = 0;

  list.addEventListener("click", (event) => {
    const element = event.target.closest(".event");
    if (element) choose(rows.get(element), true);
  });

  function onListKey(event) {
    const index = chosen ? records.indexOf(chosen) : -1;
    const next = {
      ArrowDown: index + 1, j: index + 1, ArrowUp: Math.max(0, index - 1), k: Math.max(0, index - 1),
      Home: 0, End: records.length - 1,
    }[event.key];
    if (next !== undefined && records[next] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      choose(records[next], false);
    } else if (event.key === "Enter" && chosen) {
      event.preventDefault();
      choose(chosen, true);
    } else if (event.key === "Escape") {
      close();
    }
  }

  /** Marks an event, and pauses so that it stays in its place. */
  function choose(record, opens) {
    setPaused(true);
    chosen?.row.setAttribute("aria-selected", "false");
    chosen = record;
    record.row.setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", record.row.id);
    record.row.scrollIntoView({ block: "nearest" });
    if (!opens && !side.isConnected) return;
    const { panel, title } = journeyPanel(record, close);
    put(side, panel);
    split.append(side);
    split.classList.add("open");
    // In a narrow window the journey is below the list, so the page scrolls to it.
    if (opens) title.focus();
  }

  function close() {
    side.remove();
    split.classList.remove("open");
    list.focus({ preventScroll: true });
  }

  function setPaused(value) {
    if (isPaused === value) return;
    isPaused = value;
    if (!value) skipped = 0;
    pause.setAttribute("aria-pressed", String(value));
    put(pause, value ? "Continue " : "Pause ", make("kbd", {}, "p"));
    count();
  }

  function clear() {
    records = [];
    waiting = [];
    rows.clear();
    chosen = null;
    missed = 0;
    shown = 0;
    skipped = 0;
    put(list, empty);
    count();
  }

  function count() {
    const rate = model.state.status?.events_per_second ?? 0;
    put(counters, make("span", {}, `${short(rate)} events/s pass`), make("span", {}, `${whole(shown)} shown`),
      missed > 0 ? make("span", {}, `${short(missed)} passed by: this is a sample of at most 200 per second`) : null,
      isPaused ? make("span", {}, `paused${skipped > 0 ? `, ${whole(skipped)} newer` : ""}`) : null);
  }

  function showNames() {
    const names = Object.keys(model.state.status?.destinations ?? {}).sort();
    if (destination.names !== names.join("\n")) {
      destination.names = names.join("\n");
      const value = destination.value;
      put(
        destination,
        make("option", { value: "" }, "all destinations"),
        names.map((name) => make("option", { value: name }, name)),
      );
      destination.value = value;
    }
  }
  const stopWatching = model.watch((what) => {
    if (what !== "status") return;
    count();
    showNames();
  });
  count();
  showNames();
  listen();
  return {
    view,
    stop() {
      isGone = true;
      clearTimeout(pending);
      abort?.abort();
      cancelAnimationFrame(frame);
      stopWatching();
    },
    onKey(event) {
      if (event.key === "/") { filter.input.focus(); return true; }
      if (event.key === "p") { setPaused(!isPaused); return true; }
      if (event.key === "j" || event.key === "k") { list.focus(); onListKey(event); return true; }
      if (event.key === "Escape") { close(); return true; }
      return false;
    },
  };
}
