// Dead letters: what a destination rejected, why, and again. And replay: what the journal keeps, again.

function destinationChoice(label, onChange, chosen) {
  const names = Object.keys(model.state.status?.destinations ?? {}).sort();
  return make("select", { "aria-label": label, onchange: (event) => onChange(event.target.value) },
    names.map((name) => {
      const letters = model.state.status.destinations[name].dead_letters?.letters ?? 0;
      const option = make("option", { value: name }, letters > 0 ? `${name} (${whole(letters)})` : name);
      option.selected = name === chosen;
      return option;
    }));
}

function lettersView(asked) {
  const pageSize = 100;
  let name = null;
  let letters = [];
  let next = null;
  let journey = null;
  /** The button that has opened the journey. */
  let opener = null;
  const selected = new Set();
  const body = make("tbody", {});
  const message = make("p", { class: "fault", role: "alert" });
  const place = make("span", {});
  const filter = filterField("Filter of dead letters (FQL)", () => load());
  const more = make("button", { type: "button", class: "quiet", onclick: () => load(next) }, "Show more");
  const retry = make("button", { type: "button", class: "main", onclick: () => act("retry") });
  const drop = make("button", { type: "button", class: "danger", onclick: () => act("drop") });
  const all = make("input", { type: "checkbox", "aria-label": "Select all that are shown", onchange(event) {
    selected.clear();
    if (event.target.checked) letters.forEach((letter) => selected.add(letter.position));
    show();
  } });
  const split = make("div", { class: "letters" }, make("section", { class: "panel" },
    make("div", { class: "toolbar" },
      make("div", { class: "row" },
        place,
        make("span", { class: "spread row" }, retry, drop),
      ), filter.element, message),
    make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, all),
        ["Given up", "Reason", "Answer", "Attempts", "Message id", ""].map((title) =>
          make("th", { scope: "col", class: title === "Attempts" ? "number" : "" }, title)))),
      body)),
    make("div", { class: "body" }, more)));
  const view = make("section", { class: "view", "aria-label": "Dead letters" },
    make("header", {},
      make("h1", {}, "Dead letters"),
      make("p", {}, "Events that a destination rejected for good. They wait here until you retry or drop them."),
    ), split);

  async function load(from = null) {
    if (name === null) return;
    try {
      const query = { limit: pageSize, events: "true", from: from ?? undefined };
      const page = await daemon.post(
        "/dead-letters/list",
        { destination: name, condition: filter.text() || undefined }, query,
      );
      letters = from === null ? page.letters : letters.concat(page.letters);
      next = page.next ?? null;
      if (from === null) selected.clear();
      put(message);
    } catch (error) {
      letters = [];
      next = null;
      put(message, error.message);
    }
    show();
  }

  /** What the buttons act on. */
  function showActions() {
    more.hidden = next === null;
    all.checked = letters.length > 0 && selected.size === letters.length;
    const what = selected.size > 0 ? `${whole(selected.size)} selected` : filter.text() ? "all that match" : "all";
    put(retry, `Retry ${what}`);
    put(drop, `Drop ${what}`);
    retry.disabled = drop.disabled = letters.length === 0;
  }

  function show() {
    showActions();
    if (letters.length === 0) {
      put(
        body,
        make("tr", {},
          make("td", { colspan: "7" },
            make("p", { class: "empty" },
              name === null ? "There is no destination." : "No dead letters. Nothing was lost.",
            ),
          ),
        ),
      );
      return;
    }
    put(body, letters.map((letter) => make("tr", { class: selected.has(letter.position) ? "chosen" : null },
      make("td", {}, make("input", {
        type: "checkbox", "aria-label": `Select ${letter.messageId}`, checked: selected.has(letter.position),
        onchange({ target }) {
          if (target.checked) selected.add(letter.position); else selected.delete(letter.position);
          target.closest("tr").classList.toggle("chosen", target.checked);
          showActions();
        },
      })),
      make("td", { class: "nowrap" }, letter.time.replace("T", " ").slice(0, 19)),
      make("td", { class: "reason" }, make("strong", {}, isolated(letter.reason))),
      make("td", {}, make("code", {}, isolated(letter.answer.slice(0, 300)))),
      make("td", { class: "number" }, letter.attempts),
      make("td", {}, make("code", {}, isolated(letter.messageId))),
      make("td", {}, make("button", {
        type: "button", class: "quiet", onclick: ({ target }) => open(letter, target),
      }, "Journey")))));
  }

  function open(letter, button) {
    journey?.remove();
    opener = button;
    // The journal may no longer have the event, but the letter does.
    const { panel, title } = journeyPanel({ text: letter.event }, close);
    journey = panel;
    split.append(panel);
    split.classList.add("open");
    title.focus();
  }

  function close() {
    const hadFocus = journey?.contains(document.activeElement);
    journey?.remove();
    split.classList.remove("open");
    if (hadFocus) opener.focus({ preventScroll: true });
  }

  async function act(action) {
    if (selected.size === 0 && !await filter.check()) return;
    const selection = { destination: name };
    if (selected.size > 0) selection.chosen = [...selected].map(String);
    else if (filter.text()) selection.condition = filter.text();
    const what = selected.size > 0
      ? plural(selected.size, "dead letter") : filter.text()
        ? "all dead letters that match the filter" : "all dead letters";
    if (
      action === "drop" && !await confirmed(
        "Drop dead letters?",
        `${name} will never get ${what}. This cannot be undone.`, "Drop",
      )
    ) return;
    try {
      const { letters: count } = await daemon.post(`/dead-letters/${action}`, selection);
      const text = action === "retry"
        ? `${plural(count, "dead letter")} will be sent to ${name} again.` : `${plural(count, "dead letter")} dropped.`;
      announce(text);
      await model.refresh();
      await load();
      put(message, make("span", { class: "muted" }, text));
    } catch (error) { put(message, error.message); }
  }

  function choose(destination) {
    name = destination;
    close();
    load();
  }

  function begin() {
    const names = Object.entries(model.state.status.destinations).sort();
    const first = names.find(([one]) => one === asked) ?? names.find(([, one]) =>
      one.dead_letters?.letters > 0) ?? names[0];
    put(place, destinationChoice("Destination", choose, first?.[0]));
    choose(first?.[0] ?? null);
  }
  let stop = () => {};
  if (model.state.status) begin();
  else stop = model.watch((what) => { if (what === "status" && name === null) { stop(); begin(); } });
  show();
  return {
    view, stop: () => stop(),
    onKey(event) {
      if (event.key === "/") { filter.input.focus(); return true; }
      return false;
    },
  };
}

function replayView() {
  let name = null;
  let counting = null;
  const place = make("span", { class: "field" });
  const since = make("select", { id: "since" },
    [
      ["15", "15 minutes ago"], ["60", "1 hour ago"], ["360", "6 hours ago"],
      ["1440", "1 day ago"], ["10080", "7 days ago"], ["", "a time …"],
    ].map(([value, title]) => make("option", { value }, title)),
  );
  since.value = "60";
  const from = make("input", { type: "datetime-local", step: "1", "aria-label": "From", hidden: true });
  const until = make("input", { type: "datetime-local", step: "1", id: "until" });
  const rate = make(
    "input",
    { type: "number", min: "1", max: "100000000", id: "rate", placeholder: "what live delivery leaves" },
  );
  since.addEventListener("change", () => { from.hidden = since.value !== ""; if (!from.hidden) from.focus(); });
  const filter = filterField("Filter of events to replay (FQL)", () => {});
  const result = make("div", { role: "status" });
  const running = make("div", { class: "lanes" });
  const view = make("section", { class: "view", "aria-label": "Replay" },
    make("header", {},
      make("h1", {}, "Replay"),
      make("p", {}, "Events of the past, from the journal, to one destination again, beside live delivery."),
    ),
    make("section", { class: "panel" }, make("div", { class: "body view" },
      make("div", { class: "form" },
        make("div", { class: "field" }, make("span", { class: "muted" }, "Destination"), place),
        make("div", { class: "field" }, make("label", { for: "since" }, "Events received since"), since, from),
        make("div", { class: "field" }, make("label", { for: "until" }, "Until (empty: now)"), until),
        make("div", { class: "field" }, make("label", { for: "rate" }, "Events per second"), rate),
        make("div", { class: "field wide" },
          make("span", { class: "muted" }, "Only events that match"), filter.element,
        )),
      make("div", { class: "row" }, make("button", { type: "button", onclick: countEvents }, "Count first"),
        make("button", { type: "button", class: "main", onclick: begin }, "Replay"), result))),
    running);

  /** The order as JSON. Nanoseconds do not fit into a number of JavaScript, so they are written as text. */
  function order() {
    const milliseconds = since.value !== ""
      ? Date.now() - Number(since.value) * 60_000 : new Date(from.value).getTime();
    if (Number.isNaN(milliseconds)) throw new Error("give the time from which events are replayed");
    const members = [`"destination":${JSON.stringify(name)}`, `"from":${milliseconds}000000`];
    if (until.value) members.push(`"until":${new Date(until.value).getTime()}000000`);
    if (filter.text()) members.push(`"where":${JSON.stringify(filter.text())}`);
    if (rate.value) members.push(`"events_per_second":${Math.trunc(Number(rate.value))}`);
    return `{${members.join(",")}}`;
  }

  function fail(error) { put(result, make("p", { class: "fault" }, isolated(error.message))); }

  async function countEvents() {
    counting?.abort();
    put(result);
    if (!await filter.check()) return;
    counting = new AbortController();
    try {
      await daemon.postForLines("/replay/count", order(), (parts) => {
        const report = JSON.parse(parts.at(-1));
        const { read, delivered, filtered, rejected } = report.counts;
        put(result, make("p", {}, report.whole ? "" : "counting … ", make("strong", {},
          `${whole(delivered)} would be delivered`,
        ),
          `, ${whole(filtered)} left out, ${whole(rejected)} rejected, of ${whole(read)} events`,
          report.missing_seconds > 0
            ? `. The first ${seconds(report.missing_seconds)} are no longer in the journal.` : "."));
      }, counting.signal);
    } catch (error) { if (!counting.signal.aborted) fail(error); }
  }

  async function begin() {
    if (!await filter.check()) return;
    try {
      const text = order();
      if (
        !await confirmed(
          "Start the replay?",
          `${name} gets these events again. A destination that does not recognize them will count them twice.`,
          "Replay",
        )
      ) return;
      const report = await daemon.post("/replay", text);
      put(result, make("p", {}, `Replay ${report.id} has started: ${whole(report.end - report.start)} positions.`));
      model.refresh();
    } catch (error) { fail(error); }
  }

  function show() {
    const { status } = model.state;
    if (!status) return undefined;
    if (name === null) {
      name = Object.keys(status.destinations).sort()[0] ?? null;
      put(place, destinationChoice("Destination", (value) => { name = value; }, name));
    }
    const list = Object.entries(status.destinations).filter(([, one]) => one.replay);
    const text = JSON.stringify(list.map(([, one]) => one.replay));
    if (text === running.text) return undefined;
    running.text = text;
    if (list.length === 0) return put(running, make("p", { class: "empty" }, "No replay since the daemon's start."));
    return put(running, list.map(([destination, { replay }]) => make("section", {
      class: "panel", "aria-label": `Replay to ${destination}`,
    },
      make("header", {}, make("h3", {}, isolated(destination)), pill(
        replay.state,
        { running: "info", done: "good", cancelled: "" }[replay.state] ?? "warn",
      ),
        make("span", { class: "muted" },
          `${replay.id} · ${replay.from.slice(0, 19).replace("T", " ")}`,
          ` to ${replay.until.slice(0, 19).replace("T", " ")}`,
        ),
        ["running", "retrying", "held"].includes(replay.state) ? make("button", {
          type: "button", class: "quiet spread",
          async onclick() {
            try {
              await daemon.post("/replay/cancel", {}, { destination });
              model.refresh();
            } catch (error) { fail(error); }
          },
        }, "Cancel") : null),
      make("div", { class: "body" },
        make(
          "progress",
          {
            max: String(Math.max(1, replay.end - replay.start)),
            value: String(replay.position - replay.start),
            "aria-label": `Progress of the replay to ${destination}`,
          },
        ),
        make("p", { class: "muted" },
          `${whole(replay.delivered)} delivered, ${whole(replay.filtered)} left out`,
          `, ${whole(replay.dead_lettered)} dead letters`,
        ),
        replay.last_error ? make("p", { class: "fault" }, isolated(replay.last_error)) : null))));
  }
  const stop = model.watch(show);
  show();
  return { view, stop() { stop(); counting?.abort(); } };
}
