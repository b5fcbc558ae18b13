// The frame: views, keys, theme, and the token.

const views = [
  ["overview", "Overview", overviewView], ["debugger", "Debugger", debuggerView], ["routing", "Routing", routingView],
  ["letters", "Dead letters", lettersView], ["replay", "Replay", replayView], [
    "configuration", "Configuration", configurationView,
  ],
];
const content = document.getElementById("content");
const viewList = document.getElementById("views");
let current = null;
let isLocked = false;

const counts = make("span", { class: "count", hidden: true });
const links = new Map(views.map(([id, title], index) => {
  const link = make("a", { href: `#${id}`, "aria-keyshortcuts": String(index + 1) },
    title, id === "letters" ? counts : null,
    make("kbd", { "aria-hidden": "true" }, index + 1),
  );
  viewList.append(make("li", {}, link));
  return [id, link];
}));

function show() {
  const [name, argument] = location.hash.slice(1).split("/");
  const [id, title, build] = views.find(([one]) => one === name) ?? views[0];
  current?.stop();
  for (const [one, link] of links) {
    if (one === id) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  document.title = `${title} · Penstock`;
  current = build(argument === undefined ? undefined : decodeURIComponent(argument));
  put(content, current.view);
  scrollTo(0, 0);
}

/** Asks for the token: it is missing, or the daemon has another one. */
function lock() {
  if (isLocked) return;
  isLocked = true;
  current?.stop();
  current = null;
  const input = make(
    "input",
    { type: "password", class: "code", id: "token", autocomplete: "off", "aria-describedby": "token-fault" },
  );
  const fault = make("p", { class: "fault", id: "token-fault", role: "alert" });
  put(content, make("form", {
    class: "panel gate",
    onsubmit(event) {
      event.preventDefault();
      const token = /[0-9a-f]{64}/.exec(input.value)?.[0];
      if (!token) return put(fault, "A token has 64 characters: paste the whole address that penstock open prints.");
      daemon.use(token);
      isLocked = false;
      show();
      model.start();
      return undefined;
    },
  },
  make("h1", {}, "This page needs a token"),
  make("p", {},
    "Run ", make("code", {}, "penstock open"),
    " on the daemon's machine, as root or as the daemon's user, and open the address that it prints; or paste it here.",
  ),
  make("div", { class: "field" }, make("label", { for: "token" }, "Token, or the address"), input, fault),
  make("div", {}, make("button", { class: "main" }, "Open"))));
  input.focus();
}

const connection = document.getElementById("connection");
daemon.onState((state) => {
  if (state === "locked") lock();
  const words = { live: "live", lost: "the daemon does not answer", locked: "locked" }[state];
  if (connection.textContent !== words) put(connection, words);
  connection.dataset.state = state;
});
model.watch((what) => {
  if (what !== "status") return;
  const letters = Object.values(model.state.status.destinations).reduce(
    (sum, one) => sum + (one.dead_letters?.letters ?? 0), 0,
  );
  counts.hidden = letters === 0;
  put(counts, short(letters));
});

// The theme: that of the system, unless the person has chosen.
const themes = ["system", "light", "dark"];
const themeButton = document.getElementById("theme");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let theme = localStorage.getItem("penstock-theme") ?? "system";
function showTheme() {
  if (!themes.includes(theme)) theme = "system";
  document.documentElement.dataset.theme = theme === "system" ? (prefersDark.matches ? "dark" : "light") : theme;
  put(themeButton, { system: "Auto", light: "Light", dark: "Dark" }[theme]);
  themeButton.setAttribute("aria-label", `Theme: ${theme}. Change it`);
}
function changeTheme() {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  localStorage.setItem("penstock-theme", theme);
  showTheme();
}
themeButton.addEventListener("click", changeTheme);
prefersDark.addEventListener("change", showTheme);
showTheme();

// Keys
function showKeys() {
  const keys = [
    [`1 – ${views.length}`, "Views"], ["/", "Filter"], ["p", "Pause or continue the debugger"], [
      "j  k  ↓  ↑", "Next or previous event",
    ],
    ["Enter", "Journey of the event"], ["Esc", "Close"], ["t", "Theme"], ["?", "These keys"],
  ];
  const dialog = make("dialog", { "aria-label": "Keys" }, make("h2", {}, "Keys"),
    make("dl", {},
      keys.map(([key, what]) =>
        [make("dt", {}, key.split("  ").map((one) => [make("kbd", {}, one), " "])), make("dd", {}, what)]),
    ),
    make("form", { method: "dialog", class: "row" }, make("button", { class: "main", autofocus: true }, "Close")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
document.getElementById("keys").addEventListener("click", showKeys);

document.addEventListener("keydown", (event) => {
  if (
    event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")
  ) return;
  const isTyping = event.target.matches?.("input:not([type=checkbox]), select, textarea");
  if (isTyping) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const number = Number(event.key);
  if (Number.isInteger(number) && views[number - 1] && event.key.trim() !== "") {
    location.hash = views[number - 1][0];
    content.focus({ preventScroll: true });
  } else if (event.key === "?") showKeys();
  else if (event.key === "t") changeTheme();
  else if (!current?.onKey?.(event)) return;
  event.preventDefault();
});

addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) {
    daemon.takeToken();
    isLocked = false;
    model.start();
  }
  if (!isLocked) show();
});
show();
model.start();
