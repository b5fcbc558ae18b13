// Does what analytics.js does in a page, with the requests of a browser: fetches its settings, then sends an event with
// fetch, one with `application/json` (which a browser asks for first), a batch, and one with sendBeacon.
//
//   node browser_page.mjs BASE WRITE_KEY ORIGIN
//
// A browser sends Origin by itself, and refuses the page an answer without the fields of CORS. Exits with 0 if every
// request was allowed and successful, else prints why and exits with 1.

const [base, writeKey, origin] = process.argv.slice(2);

function fail(reason) {
  console.log(reason);
  process.exit(1);
}

// The check of the Fetch Standard (section 4.10) for requests without credentials.
function checkAccess(response, what) {
  const allowed = response.headers.get("access-control-allow-origin");
  if (allowed !== "*" && allowed !== origin) fail(`${what}: the browser hides the answer (${response.status}, ${allowed})`);
  if (allowed !== "*" && !(response.headers.get("vary") ?? "").includes("Origin")) fail(`${what}: caches mix origins`);
}

const simpleTypes = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];

async function send(url, body, type) {
  if (!simpleTypes.includes(type.split(";")[0])) {
    const preflight = await fetch(url, {
      method: "OPTIONS",
      headers: {
        Origin: origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
        "Access-Control-Request-Private-Network": "true",
      },
    });
    checkAccess(preflight, `preflight of ${url}`);
    const list = (name) => (preflight.headers.get(name) ?? "").toLowerCase().split(/, */);
    if (!preflight.ok) fail(`preflight: ${preflight.status}`);
    if (!list("access-control-allow-methods").includes("post")) fail("preflight: POST is not allowed");
    if (!list("access-control-allow-headers").includes("content-type")) fail("preflight: Content-Type is not allowed");
    if (!list("access-control-allow-private-network").includes("true")) fail("preflight: the network is private");
  }
  const response = await fetch(url, {
    method: "POST",
    headers: { Origin: origin, "Content-Type": type },
    body: JSON.stringify(body),
  });
  checkAccess(response, url);
  if (!response.ok) fail(`${url}: ${response.status} ${await response.text()}`);
}

const answer = await fetch(`${base}/v1/projects/${writeKey}/settings`, { headers: { Origin: origin } });
checkAccess(answer, "settings");
if (!answer.ok) fail(`settings: ${answer.status}`);
const settings = (await answer.json()).integrations["Segment.io"];
const host = `${settings.protocol ?? "https"}://${settings.apiHost}`;

const event = (name) => ({
  type: "track",
  event: name,
  anonymousId: "f4ca124298",
  userId: null,
  properties: {},
  integrations: {},
  context: { page: { path: "/", url: `${origin}/` }, library: { name: "analytics.js", version: "npm:next-1.81.0" } },
  messageId: `ajs-next-${name}`,
  timestamp: new Date().toISOString(),
});
const sentAt = new Date().toISOString();

// One by one, as analytics.js does unless it is told to send batches.
await send(`${host}/t`, { ...event("Fetched"), writeKey: settings.apiKey, sentAt }, "text/plain");
await send(`${host}/t`, { ...event("Asked"), writeKey: settings.apiKey, sentAt }, "application/json");
await send(`${host}/b`, { writeKey: settings.apiKey, batch: [event("First"), event("Second")], sentAt }, "text/plain");
// The page is left: sendBeacon sends text as this type, and nobody reads the answer.
await send(`${host}/b`, { writeKey: settings.apiKey, batch: [event("Left")], sentAt }, "text/plain;charset=UTF-8");
console.log("sent");
