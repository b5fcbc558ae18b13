// Makes elements. No function takes markup: what comes from an event is always text.

const SVG = "http://www.w3.org/2000/svg";

/** A child may be text, an element, a list of children, or nothing. */
function fill(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
  return element;
}

function assign(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || (value === false && !name.startsWith("aria-"))) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "checked" || name === "disabled" || name === "open") element[name] = value;
    else element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : visible(String(value)));
  }
  return element;
}

/** An element of HTML: make("p", { class: "muted" }, "text", otherElement). */
function make(tag, attributes = {}, ...children) {
  return fill(assign(document.createElement(tag), attributes), children);
}

/** An element of SVG. */
function draw(tag, attributes = {}, ...children) {
  return fill(assign(document.createElementNS(SVG, tag), attributes), children);
}

function put(element, ...children) {
  element.replaceChildren();
  return fill(element, children);
}

/**
 * Text in which characters that a person cannot see, or that change the order of others, are written as \u{…}:
 * control characters, bidirectional controls, zero-width characters and lone surrogates. Line feeds and tabs stay.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Cs}/gu;
function visible(text) {
  return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

/** Text from outside within a sentence: its direction does not reach the text around it. */
const isolated = (text) => make("bdi", {}, text);

const pill = (text, tone = "") => make("span", { class: `pill ${tone}` }, text);

/** 12,300. Numbers from here on, for people. */
const whole = (number) => Math.round(number).toLocaleString("en");
function short(number) {
  if (number < 10 && number % 1 !== 0) return number.toFixed(1);
  if (number < 10_000) return whole(number);
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (number >= size) return (number / size).toPrecision(3).replace(/\.?0+$/, "") + " " + unit;
  }
  return whole(number);
}
function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) { number /= 1024; unit += 1; }
  return `${unit === 0 ? number : number.toFixed(number < 10 ? 1 : 0)} ${units[unit]}`;
}
function seconds(number) {
  if (number < 1) return number < 0.05 ? "0 s" : `${number.toFixed(1)} s`;
  if (number < 120) return `${Math.round(number)} s`;
  if (number < 7200) return `${Math.round(number / 60)} min`;
  if (number < 172_800) return `${Math.round(number / 3600)} h`;
  return `${Math.round(number / 86_400)} d`;
}
/** A short time: 820 µs, 12 ms, 1.4 s. */
function duration(number) {
  if (number >= 1) return number < 10 ? `${number.toPrecision(2)} s` : seconds(number);
  return number >= 0.001 ? `${Number((number * 1e3).toPrecision(2))} ms` : `${Math.round(number * 1e6)} µs`;
}
/** `25 %`. A part that is not zero is never shown as nothing, and a part is never shown as the whole. */
function share(part, all) {
  if (all === 0) return "0 %";
  const tenths = part / all * 1000;
  if (part > 0 && tenths < 1) return "< 0.1 %";
  if (part < all && tenths > 999) return "> 99.9 %";
  return `${Math.round(tenths) / 10} %`;
}
const plural = (number, noun) => `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
const clock = (text) => /T(\d\d:\d\d:\d\d(\.\d{3})?)/.exec(text ?? "")?.[1] ?? "";

// JSON

/** A number that JavaScript cannot hold: its text as sent. */
class ExactNumber {
  constructor(text) { this.text = text; }
}

/** Parses JSON and keeps numbers as they were sent. */
function parse(text) {
  return JSON.parse(text, (key, value, context) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source
      ? new ExactNumber(context.source) : value);
}

/** The lines of a value as indented JSON, for comparing and for showing. */
function lines(value, indent = "", name = null, end = "") {
  const start = indent + (name === null ? "" : JSON.stringify(name) + ": ");
  if (value instanceof ExactNumber) return [start + value.text + end];
  if (value === null || typeof value !== "object") return [start + JSON.stringify(value) + end];
  const isList = Array.isArray(value);
  const entries = isList ? value.map((item) => [null, item]) : Object.entries(value);
  if (entries.length === 0) return [start + (isList ? "[]" : "{}") + end];
  return [
    start + (isList ? "[" : "{"),
    ...entries.flatMap(([key, item], index) =>
      lines(item, indent + "  ", key, index < entries.length - 1 ? "," : "")),
    indent + (isList ? "]" : "}") + end,
  ];
}

/** The most characters of one text that are shown: one event cannot make the page slow. */
const LONGEST = 60_000;

/** A value as coloured JSON. */
function json(value) {
  let text = lines(value).join("\n");
  const rest = text.length - LONGEST;
  if (rest > 0) text = text.slice(0, LONGEST);
  const block = make("pre", { class: "json", dir: "ltr" });
  const token = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g;
  let last = 0;
  for (const match of text.matchAll(token)) {
    fill(block, [text.slice(last, match.index)]);
    const kind = match[1] ? (match[2] ? "name" : "text") : match[3] ? "number" : "word";
    fill(block, [make("span", { class: kind }, match[1] ?? match[0]), match[2] ?? ""]);
    last = match.index + match[0].length;
  }
  fill(block, [text.slice(last), rest > 0 ? `\n… ${whole(rest)} more characters` : ""]);
  return block;
}

const announcer = document.getElementById("announcer");
/** Says something to those who listen to the page. */
function announce(text) { put(announcer, text); }

/** Asks before something that cannot be undone. Resolves to whether the person agreed. */
function confirmed(title, text, action) {
  return new Promise((resolve) => {
    const dialog = make("dialog", { "aria-label": title },
      make("h2", {}, title), make("p", {}, text),
      make("form", { method: "dialog", class: "row" },
        make("button", { value: "no", autofocus: true }, "Cancel"),
        make("button", { value: "yes", class: "danger" }, action)));
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
    document.body.append(dialog);
    dialog.showModal();
  });
}
