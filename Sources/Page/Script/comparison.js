// What a reload would change: the running configuration and the files on disk, compared with the journal's events.

/** The most lines of one sample, the most characters of one line, and the most errors that are shown. */
const LONGEST_SAMPLE = 400;
const LONGEST_LINE = 2000;
const MOST_ERRORS = 20;

const changeTones = { added: "good", lost: "bad", changed: "warn", dead_letter: "bad" };
const changeWords = { added: "added", lost: "lost", changed: "changed", dead_letter: "dead letter" };
const destinationTones = { same: "", changed: "warn", added: "good", removed: "bad", renamed: "warn" };

/** A button that compares or cancels, and the element that shows the result. */
function reloadComparison() {
  const element = make("div", { class: "stack" });
  const button = make("button", { type: "button", onclick: () => { if (running) cancel(); else compare(); } });
  let running = null;
  /** The files that the result is about. */
  let known = null;

  async function compare() {
    const own = new AbortController();
    setRunning(own);
    put(element, make("p", { class: "notice", role: "status" }, "Comparing with the events of the journal …"));
    try {
      const report = await daemon.post("/diff", {}, {}, own.signal);
      if (own.signal.aborted) return;
      put(element, report.errors.length > 0 ? refusedReload(report.errors) : comparisonResult(report));
      announce(report.errors.length > 0 ? "A reload would be refused." : comparisonVerdict(report.comparison));
    } catch (error) {
      if (own.signal.aborted) return;
      put(element, make("p", { class: "notice bad", role: "alert" }, isolated(error.message)));
    }
    setRunning(null);
  }

  function setRunning(controller) {
    running = controller;
    put(button, running ? "Cancel" : "What would a reload change?");
  }

  function stop() {
    running?.abort();
    setRunning(null);
  }

  function cancel() {
    stop();
    put(element);
  }
  setRunning(null);

  return {
    element, button, stop,
    /** A result about other files is not shown any longer. */
    show(report) {
      const text = JSON.stringify([report.applied_at, report.files]);
      if (known === text) return;
      known = text;
      const wasRunning = running !== null;
      cancel();
      if (!wasRunning) return;
      put(element, make("p", { class: "notice", role: "status" }, "The files have changed: compare again."));
    },
  };
}

function refusedReload(errors) {
  return make("div", { class: "notice bad" },
    make("strong", {}, "A reload would be refused: the files on disk are not valid."),
    errors.slice(0, MOST_ERRORS).map((error) => make("pre", {}, error)),
    errors.length > MOST_ERRORS ? make("p", {}, `and ${plural(errors.length - MOST_ERRORS, "more error")}`) : null);
}

function comparisonVerdict(comparison) {
  const changing = comparison.destinations.filter((one) => one.state !== "same").length;
  return changing === 0 ? "A reload would change nothing for any destination."
    : `A reload would change ${whole(changing)} of ${plural(comparison.destinations.length, "destination")}.`;
}

function comparisonResult({ comparison, older, limits }) {
  const isRead = comparison.destinations.some((one) => one.counts);
  return make("section", { class: "panel comparison", "aria-label": "What a reload would change" },
    make("header", {}, make("h3", {}, comparisonVerdict(comparison))),
    make("div", { class: "body stack" },
      make("div", { class: "muted" },
        make("p", {}, isRead ? comparisonScope(comparison)
          : "No event had to be compared: every destination has the same rules."),
        older > 0 ? make("p", {},
          `Only the newest ${whole(limits.events)} events of the journal are compared: `,
          make("code", {}, "penstock diff"), " compares all.",
        ) : null,
        comparison.missing > 0 ? make("p", {},
          `${plural(comparison.missing, "event")} cannot be read: see `,
          make("code", {}, "penstock journal verify"), ".",
        ) : null),
      comparison.whole ? null : make("p", { class: "notice warn" },
        `The comparison ended after ${plural(limits.seconds, "second")}, and the newest events are not in it.`,
      ),
      comparison.not_compared.map((part) => make("p", { class: "notice warn" }, make("span", {},
        make("code", {}, part), " differs. It decides before an event is stored, so its effect is not shown.",
      ))),
      comparisonTable(comparison),
      comparison.destinations.filter((one) => one.state !== "same" || one.settings.length > 0)
        .map(comparedDestination)));
}

function comparisonScope(comparison) {
  if (comparison.events === 0) return comparison.whole ? "The journal has no events." : "No event was compared.";
  const time = (text) => text.slice(0, 19).replace("T", " ");
  return [
    `Compared with ${plural(comparison.events, "event")} of the journal, received `,
    `${time(comparison.first_received_at)} to ${time(comparison.last_received_at)} UTC. Nothing was sent.`,
  ];
}

function comparisonTable(comparison) {
  const columns = [
    ["Same", "same", ""], ["Added", "added", "good"], ["Lost", "lost", "bad"], ["Changed", "changed", "warn"],
    ["Dead letters", "dead_letters", "bad"],
  ];
  return make("div", { class: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Destination"), make("th", { scope: "col" }, ""),
      columns.map(([title]) => make("th", { scope: "col", class: "number" }, title)))),
    make("tbody", {}, comparison.destinations.map((one) => {
      const all = one.counts ? Object.values(one.counts).reduce((sum, count) => sum + count, 0) : 0;
      return make("tr", {}, make("td", {}, make("strong", {}, isolated(one.name))),
        make("td", {}, pill(one.state === "same" ? "no change" : one.state, destinationTones[one.state])),
        one.counts ? columns.map(([, key, tone]) => make("td", { class: "number" },
          one.counts[key] === 0 ? make("span", { class: "muted" }, "0")
            : [
              make("span", { class: tone }, whole(one.counts[key])),
              make("span", { class: "muted" }, ` · ${share(one.counts[key], all)}`),
            ]))
          : make("td", { class: "number muted", colspan: String(columns.length) }, "same rules"));
    }))));
}

/** Everything about one destination below the counts. */
function comparedDestination(one) {
  return make("details", { class: `lane ${one.state === "removed" ? "rejected" : "routed"}`, open: true },
    make("summary", {}, make("b", {}, isolated(one.name)),
      make("span", { class: "muted" }, isolated(comparisonRemark(one)))),
    make("div", { class: "findings" },
      one.fields.length > 0 ? [
        make("h3", {}, "Fields that differ"),
        make("ul", {}, one.fields.map((field) => make("li", {},
          make("code", {}, isolated(field.path)), " ",
          make("span", { class: "muted" }, ["added", "removed", "changed"].filter((kind) => field[kind] > 0)
            .map((kind) => `${kind} in ${plural(field[kind], "event")}`).join(", "))))),
        one.other_fields > 0 ? make("p", { class: "muted" }, "and others: see penstock diff --json") : null,
      ] : null,
      one.target.map((setting) => [
        make("h3", {}, isolated(setting.key), " differs, for every event"),
        make("div", { class: "box" }, differenceLines(textLines(setting.before), textLines(setting.after))),
      ]),
      one.settings.length > 0 ? make("p", { class: "muted" },
        "Also differs, without effect on events: ", isolated(one.settings.join(", ")),
      ) : null,
      one.samples.map(comparisonSample)));
}

const textLines = (text) => text === undefined ? [] : text.split("\n");

/** The counts are of past events, which a new destination may never get. */
function comparisonRemark(one) {
  const words = {
    added: "new destination", removed: "removed destination",
    renamed: `renamed from ${one.renamed_from}, whose cursor and dead letters it does not get`,
  }[one.state];
  const start = one.start === undefined ? null
    : one.start === "now" ? "start: now, so it gets later events only" : `start: ${one.start}`;
  return [words, start].filter((part) => part).join(" · ");
}

function comparisonSample(one) {
  let [before, after] = [0, 0];
  const all = one.lines.slice(0, LONGEST_SAMPLE).map(({ mark, text }) => {
    const line = { sign: mark, text: text.length > LONGEST_LINE ? text.slice(0, LONGEST_LINE) + "…" : text };
    if (mark !== "+") line.before = before += 1;
    if (mark !== "-") line.after = after += 1;
    return line;
  });
  const rest = one.lines.length - all.length;
  return make("div", { class: "sample" },
    make("p", { class: "row" }, pill(changeWords[one.verdict], changeTones[one.verdict]),
      one.type === undefined ? "event" : isolated(one.type),
      one.name === undefined ? null : make("strong", {}, isolated(one.name)),
      make("span", { class: "muted" }, `position ${one.position}, received ${clock(one.received_at)}`)),
    one.before === undefined ? null : make("p", { class: "muted" }, "now: ", isolated(one.before)),
    one.after === undefined ? null : make("p", {}, "then: ", isolated(one.after)),
    all.length === 0 ? make("p", { class: "muted" }, "The event is too large to be shown.")
      : make("div", { class: "box" }, markedLines(all, one.verdict === "changed" ? 2 : null)),
    rest > 0 ? make("p", { class: "muted" }, `and ${plural(rest, "more line")}`) : null);
}
