// Asks the daemon. The token comes with the address (#token=…), is kept for this tab only, and is sent in a header.

const daemon = (() => {
  const key = "penstock-token";
  let token = sessionStorage.getItem(key) ?? "";
  const listeners = new Set();

  /** Takes the token out of the address, so that it is neither in the history nor in a screenshot. */
  function takeToken() {
    const match = /^#token=([0-9a-f]{64})$/.exec(location.hash);
    if (!match) return;
    use(match[1]);
    history.replaceState(null, "", location.pathname + "#overview");
  }

  function use(text) {
    token = text;
    sessionStorage.setItem(key, text);
  }

  class Refusal extends Error {
    constructor(status, message) { super(message); this.status = status; }
  }

  async function ask(method, path, query = {}, body = undefined, signal = undefined) {
    const fields = token ? { Authorization: "Bearer " + token } : {};
    if (body !== undefined) fields["Content-Type"] = "application/json";
    const search = new URLSearchParams(
      Object.entries(query).filter(([, value]) => value !== undefined && value !== ""),
    );
    const target = "/api" + path + (search.size > 0 ? "?" + search.toString().replaceAll("+", "%20") : "");
    let answer;
    try {
      answer = await fetch(target, {
        method, headers: fields, body, signal, cache: "no-store", credentials: "omit", redirect: "error",
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      report("lost");
      throw new Refusal(0, "the daemon does not answer");
    }
    report("live");
    if (answer.ok) return answer;
    let message = `the daemon answered with status ${answer.status}`;
    try { message = (await answer.json()).error ?? message; } catch { /* it is not JSON */ }
    if (answer.status === 401) report("locked");
    throw new Refusal(answer.status, message);
  }

  function report(state) { for (const listener of listeners) listener(state); }

  /** Reads a stream of lines, and calls `take` with those of each piece. */
  async function readLines(answer, take) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    while (true) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      if (parts.length > 0) take(parts);
    }
    if (rest) take([rest]);
  }

  takeToken();
  return {
    takeToken, use, Refusal,
    onState: (listener) => listeners.add(listener),
    get: async (path, query) => (await ask("GET", path, query)).json(),
    post: async (path, body, query, signal) => (
      await ask("POST", path, query, typeof body === "string" ? body : JSON.stringify(body ?? {}), signal)
    ).json(),
    /** An answer with numbers as they were sent. */
    postExactly: async (path, body) => parse(await (await ask("POST", path, {}, JSON.stringify(body))).text()),
    stream: async (path, query, take, signal) => readLines(await ask("GET", path, query, undefined, signal), take),
    postForLines: async (path, body, take, signal) => readLines(await ask("POST", path, {}, body, signal), take),
  };
})();

/** What several views show: the status of each second, the history of each ten seconds, the graph of routing. */
const model = (() => {
  const listeners = new Set();
  const state = { status: null, previous: null, history: null, routing: null, rates: {} };
  const steps = 360;

  function notify(what) { for (const listener of listeners) listener(what); }

  async function readStatus() {
    const status = await daemon.get("/status");
    const now = performance.now();
    const before = state.previous;
    if (before) {
      const elapsed = (now - before.time) / 1000;
      for (const [name, source] of Object.entries(status.sources)) {
        const earlier = before.sources[name]?.accepted ?? source.accepted;
        state.rates[name] = Math.max(0, source.accepted - earlier) / elapsed;
      }
    }
    if (!before || now - before.time > 900) state.previous = { time: now, sources: status.sources };
    // A restart begins a new history, and perhaps another configuration.
    if (
      state.status && status.uptime_seconds < state.status.uptime_seconds
    ) { state.history = null; state.routing = null; }
    state.status = status;
    notify("status");
  }

  async function readHistory() {
    const known = state.history;
    const report = await daemon.get("/history", known ? { from: known.next } : {});
    if (!known || report.first !== known.next) {
      state.history = { ...report, series: new Map(report.series.map((one) => [name(one), one])) };
    } else {
      const added = report.next - report.first;
      const length = known.next - known.first;
      for (const one of report.series) {
        if (!known.series.has(name(one))) known.series.set(name(one), { ...one, values: new Array(length).fill(0) });
      }
      const fresh = new Map(report.series.map((one) => [name(one), one.values]));
      for (const [id, one] of known.series) {
        one.values = one.values.concat(fresh.get(id) ?? new Array(added).fill(0)).slice(-steps);
      }
      known.next = report.next;
      known.first = Math.max(known.first, known.next - steps);
      known.end = report.end;
    }
    notify("history");
  }
  const name = (one) => JSON.stringify([one.owner, one.name, one.figure, one.reason ?? null]);

  async function readRouting() {
    state.routing = await daemon.get("/routing");
    notify("routing");
  }

  let timer = null;
  let round = 0;
  async function tick() {
    timer = null;
    try {
      if (!document.hidden) {
        await readStatus();
        if (!state.history || round % 10 === 0) await readHistory();
        if (!state.routing || round % 10 === 5) await readRouting();
        round += 1;
      }
      timer = setTimeout(tick, 1000);
    } catch (error) {
      if (error.status !== 401) timer = setTimeout(tick, 2000);
    }
  }

  return {
    state,
    /** Calls the listener after each change, until the returned function is called. */
    watch(listener) { listeners.add(listener); return () => listeners.delete(listener); },
    start() { if (timer === null) tick(); },
    refresh: () => readStatus().catch(() => {}),
    /** The sum of all figures that match, step by step. */
    sum(match) {
      const history = state.history;
      if (!history) return [];
      const total = new Array(history.next - history.first).fill(0);
      for (const one of history.series.values()) {
        if (match(one)) one.values.forEach((value, index) => { total[index] += value; });
      }
      return total;
    },
  };
})();
document.addEventListener("visibilitychange", () => { if (!document.hidden) model.refresh(); });
