// The journey of one event through every route and destination, as the running configuration decides it.

const verdicts = {
  routed: ["accent", "gets it"], filtered: ["", "does not get it"], rejected: ["bad", "would become a dead letter"],
};

/** The parts of a filter that decide, with what the event has there. */
function conditions(filter) {
  if (filter.because.length === 0 || filter.text === "true") return null;
  return make("ul", { class: "conditions" }, filter.because.map((one) => make("li", {},
    make("span", { class: one.holds ? "yes" : "no" },
      one.holds ? "✓" : "✗",
      make("span", { class: "unseen" }, one.holds ? "holds:" : "does not hold:"),
    ),
    make("span", {},
      make("code", {}, one.text),
      make("span", { class: "muted" }, Object.entries(one.seen).map(([path, value], index) => [
        index > 0 ? ", " : "", isolated(path),
        value?.missing === true && Object.keys(value).length === 1
          ? " is missing" : [" is ", make("code", {}, clippedJSON(value))],
      ])),
    ))));
}

function clippedJSON(value) {
  const text = lines(value).join(" ").replace(/\s+/g, " ");
  return text.length > 120 ? text.slice(0, 119) + "…" : text;
}

function routeStep(route) {
  return make("li", { class: route.filter.holds ? "yes" : "no" },
    make("p", {},
      "Route ", make("strong", {}, isolated(route.name)), route.filter.holds ? " takes the event" : " does not match",
      route.filter.text === "true"
        ? make("span", { class: "muted" }, "it takes every event")
        : make("code", { class: "muted" }, route.filter.text),
    ),
    conditions(route.filter));
}

function transformStep(step) {
  const owner = { pipeline: "of the pipeline", route: "of the route", destination: "of the destination" }[step.of];
  const words = {
    passed_over: "is passed over", unchanged: "changes nothing", dropped: "drops the event", rejected: "fails",
    changed: "changes the event",
  }[step.outcome];
  return make("li", { class: { dropped: "stop", rejected: "stop", changed: "yes" }[step.outcome] ?? "no" },
    make("p", {}, "Transform ", make("strong", {}, step.step), ` ${words} `, make("span", { class: "muted" }, owner)),
    step.reason ? make("p", { class: "fault" }, isolated(step.reason)) : null,
    step.earlier_events ? make("p", { class: "muted" },
      "It depends on earlier events, which are not known here.",
    ) : null,
    step.where ? conditions(step.where) : null,
    step.outcome === "changed" ? step.after.map((after) =>
      make("div", { class: "box" }, differenceLines(lines(step.before), lines(after), 1))) : null);
}

function deliverySteps(delivery) {
  if (!delivery) return [];
  if (delivery.requests) {
    return delivery.requests.map((request) => make("li", { class: "yes" }, make("p", {}, "The request"),
      make("div", { class: "box" },
        make("pre", { class: "request-line" }, `${request.method} ${request.url}`),
        make("pre", { class: "muted" },
          Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`).join("\n"),
        ),
        make("br"),
        typeof request.body === "string" ? make("pre", {}, request.body.slice(0, LONGEST)) : json(request.body))));
  }
  if (delivery.files) {
    return delivery.files.map((file) => make("li", { class: "yes" },
      make("p", {}, "Appended to ", make("code", {}, file.file)),
      file.lines.map((line) =>
        make("div", { class: "box" },
          typeof line === "string" ? make("pre", {}, line.slice(0, LONGEST)) : json(line),
        ))));
  }
  if (delivery.plugin) {
    return delivery.rows.map((row) => make("li", { class: "yes" },
      make("p", {},
        "Given to the plugin ", make("strong", {}, isolated(delivery.plugin)),
      ), make("div", { class: "box" }, json(row.payload))));
  }
  return [make("li", { class: "stop" }, make("p", { class: "fault" }, isolated(delivery.impossible)))];
}

/** meant: the destination of the chosen record; only its lane is open then. */
function lane(name, one, meant) {
  const [tone, words] = verdicts[one.verdict];
  return make("details", {
    class: `lane ${one.verdict}`,
    open: meant === undefined ? one.verdict !== "filtered" : name === meant,
  },
    make("summary", {}, make("b", {}, isolated(name)), pill(words, tone),
      make("span", { class: "muted" }, one.verdict === "routed" ? ["route ", isolated(one.route ?? "")]
        : one.reason === "no_route" ? "no route selects it" : isolated(one.reason ?? ""))),
    make("ol", { class: "steps" },
      one.steps.filter((step) => step.of === "pipeline").map(transformStep),
      one.routes.map(routeStep),
      one.integration ? make("li", { class: "stop" },
        make("p", {}, "The event's integrations exclude ", make("strong", {}, isolated(one.integration))),
      ) : null,
      one.steps.filter((step) => step.of !== "pipeline").map(transformStep),
      (one.dead_letters ?? []).map((letter) =>
        make("li", { class: "stop" },
          make("p", { class: "fault" }, isolated(letter.reason)),
          make("div", { class: "box" }, json(letter.event)),
        )),
      deliverySteps(one.delivery)));
}

/** The same as a small map: which way the event takes. */
function journeyMap(explanation) {
  const { routing } = model.state;
  const destinations = explanation.destinations ?? {};
  if (!routing) return null;
  const asked = new Map();
  for (const one of Object.values(destinations)) for (const route of one.routes) asked.set(
    route.name,
    route.filter.holds || asked.get(route.name) === true,
  );
  const routes = routing.routes.map((route) => ({
    id: `r ${route.name}`, title: route.name, full: route.where ?? "every event",
    detail: asked.get(route.name) ? "matches" : asked.has(route.name) ? "does not match" : "not asked",
    isOff: !asked.get(route.name), isTaken: asked.get(route.name) === true,
  }));
  const ends = Object.entries(destinations).sort().map(([name, one]) => ({
    id: `d ${name}`, title: name, isOff: one.verdict === "filtered", isTaken: one.verdict === "routed",
    tone: one.verdict === "rejected" ? "bad" : "",
    detail: one.verdict === "filtered" && one.reason !== "no_route"
      ? `left out: ${one.reason}` : one.verdict === "rejected" ? "dead letter" : verdicts[one.verdict][1],
  }));
  const pipes = routes.map((route) =>
    ({ from: "event", to: route.id, kind: route.isTaken ? "live" : "off", flows: route.isTaken }));
  for (const [name, one] of Object.entries(destinations)) {
    for (const route of routing.routes.filter((known) => known.to.includes(name))) {
      const isTaken = one.verdict === "routed" && one.route === route.name;
      pipes.push(
        {
          from: `r ${route.name}`, to: `d ${name}`,
          kind: isTaken ? "live" : one.verdict === "rejected" && one.route === route.name ? "stuck" : "off",
          flows: isTaken,
        },
      );
    }
  }
  const event = explanation.event ?? {};
  const start = {
    id: "event",
    title: String(event.event ?? event.name ?? event.type ?? "event"),
    detail: explanation.source ? `from ${explanation.source}` : "", isTaken: true,
  };
  return graph([[start], routes, ends], pipes, ["Event", "Routes", "Destinations"], "The way of the event", 600);
}

/**
 * The panel of an event's journey.
 * record: what the tap showed, or { position } or { text }; onClose: called by the button and by Escape.
 */
function journeyPanel(record, onClose) {
  const title = make("h2", { tabindex: "-1" }, "Journey");
  const facts = make("p", { class: "facts" });
  const body = make("div", { class: "body view" },
    make("p", { class: "muted", role: "status" }, "asking the daemon …"),
  );
  const panel = make("section", { class: "panel journey", "aria-label": "The journey of one event" },
    make("header", {},
      title,
      make("button", { type: "button", class: "quiet spread", onclick: onClose, "aria-keyshortcuts": "Escape" },
        "Close ", make("kbd", {}, "Esc"),
      ),
      facts,
    ),
    body);
  panel.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); onClose(); } });

  function show(explanation) {
    const event = explanation.event ?? {};
    const name = typeof event === "object" ? event.event ?? event.name ?? event.type : null;
    put(title, "Journey of ", isolated(String(name ?? "an event")));
    put(facts, explanation.position !== undefined && record.text === undefined ? make("span", {},
      "position ",
      make("b", {}, String(explanation.position.text ?? explanation.position)),
    ) : null,
      explanation.source ? make("span", {}, "source ", make("b", {}, isolated(explanation.source))) : null,
      make("span", {}, "received ", make("b", {}, clock(explanation.received))),
      make("span", {}, make("b", {}, `${whole(explanation.bytes)} bytes`)),
      explanation.peer ? make("span", {},
        "from ",
        make("b", {},
          `uid ${explanation.peer.uid}${explanation.peer.user ? ` (${explanation.peer.user})` : ""}`,
          `, pid ${explanation.peer.pid}`,
        ),
      ) : null);
    const lanes = Object.entries(explanation.destinations ?? {});
    const order = ["routed", "rejected", "filtered"];
    // The destination of the chosen record comes first.
    const isMeant = ([name]) => Number(name === record.destination);
    lanes.sort((a, b) =>
      isMeant(b) - isMeant(a) || order.indexOf(a[1].verdict) - order.indexOf(b[1].verdict) || (a[0] < b[0] ? -1 : 1));
    put(body, happened(record),
      explanation.refused ? make("p", { class: "notice bad" },
        make("strong", {}, explanation.refused.reason), isolated(explanation.refused.detail),
      ) : journeyMap(explanation),
      make("div", { class: "lanes" }, lanes.map(([destination, one]) => lane(destination, one, record.destination)),
        make("details", { class: "lane", open: lanes.length === 0 },
          make("summary", {},
            make("b", {}, explanation.stored ? "The event as it was stored" : "The event as it was sent"),
          ),
          make("div", { class: "body" },
            make("div", { class: "box" }, json(explanation.stored ?? explanation.event)),
          ))));
  }

  /** What the tap has seen, which is more than what would happen now. */
  function happened(seen) {
    if (!seen.stage || !seen.outcome && !seen.reason) return null;
    const tone = {
      delivered: "good", routed: "good", filtered: "", retry: "warn", held: "warn",
    }[seen.outcome] ?? "bad";
    const what = seen.outcome ?? (seen.destination === undefined ? "refused" : "dead letter");
    return make("div", { class: `notice ${tone}` },
      make("strong", {},
        isolated(seen.destination ?? seen.source ?? ""), `: ${what.replace("_", " ")}`,
        seen.attempt > 1 ? `, attempt ${seen.attempt}` : "",
      ),
      seen.reason ? make("span", {},
        isolated(seen.reason),
      ) : null, seen.detail ? make("span", {}, isolated(seen.detail)) : null,
      seen.answer ? make("pre", {}, seen.answer) : null);
  }

  (async () => {
    try {
      if (record.position === undefined && record.text === undefined) {
        put(title, "Refused");
        put(facts, `by ${record.source}`);
        put(body, make("div", { class: "notice bad" },
          make("strong", {}, isolated(record.reason)), isolated(record.detail),
        ),
          make("p", { class: "muted" }, "The source has not stored this event, so there is no more to show."));
      } else {
        const order = record.position !== undefined ? { position: record.position } : {
          event: record.text, source: record.source,
        };
        show(await daemon.postExactly("/explain", order));
      }
    } catch (error) {
      put(body, happened(record), make("p", { class: "notice bad" }, isolated(error.message)));
    }
  })();
  return { panel, title };
}
