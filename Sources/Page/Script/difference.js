// Compares two lists of lines.

/** The most lines on each side that are compared line by line. Longer ones are shown as replaced. */
const LONGEST_DIFFERENCE = 3000;

/**
 * The lines of both: [{ sign: " ", "-" or "+", text, before, after }], with the numbers of the lines. The common part
 * is the longest, found by dynamic programming over what differs between the equal beginning and the equal end.
 */
function compared(old, fresh) {
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let [oldEnd, freshEnd] = [old.length, fresh.length];
  while (oldEnd > start && freshEnd > start && old[oldEnd - 1] === fresh[freshEnd - 1]) { oldEnd -= 1; freshEnd -= 1; }
  const [a, b] = [old.slice(start, oldEnd), fresh.slice(start, freshEnd)];
  const result = [];
  const same = (from, to, shift) => {
    for (let index = from; index < to; index += 1) {
      result.push({ sign: " ", text: old[index], before: index + 1, after: index + 1 + shift });
    }
  };
  same(0, start, 0);
  const length = a.length > LONGEST_DIFFERENCE || b.length > LONGEST_DIFFERENCE ? null
    : Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  if (length) {
    for (let i = a.length - 1; i >= 0; i -= 1) {
      for (let j = b.length - 1; j >= 0; j -= 1) {
        length[i][j] = a[i] === b[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
      }
    }
  }
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (length && i < a.length && j < b.length && a[i] === b[j]) {
      result.push({ sign: " ", text: a[i], before: start + i + 1, after: start + j + 1 });
      i += 1;
      j += 1;
    } else if (i < a.length && (!length || j >= b.length || length[i + 1][j] >= length[i][j + 1])) {
      result.push({ sign: "-", text: a[i], before: start + i + 1 });
      i += 1;
    } else {
      result.push({ sign: "+", text: b[j], after: start + j + 1 });
      j += 1;
    }
  }
  same(oldEnd, old.length, freshEnd - oldEnd);
  return result;
}

/** A line of YAML, its key and its comment coloured. */
function yaml(text) {
  const [, indent, key, rest] = /^(\s*(?:- )?)((?:[\w.]+|"[^"]*"):(?=\s|$))?(.*)$/s.exec(text);
  const comment = /(^|\s)#.*$/.exec(rest);
  const value = comment && !/["']/.test(rest.slice(0, comment.index)) ? rest.slice(0, comment.index) : rest;
  return make("span", { class: "yaml" }, indent, key ? make("span", { class: "name" }, key) : null, value,
    value.length < rest.length ? make("span", { class: "comment" }, rest.slice(value.length)) : null);
}

/** A comparison as elements. With `context`, equal lines farther from a change are left out. */
function differenceLines(old, fresh, context = null, show = undefined) {
  return markedLines(compared(old, fresh), context, show);
}

/** Lines that are compared already, as `compared` returns them, as elements. */
function markedLines(all, context = null, show = (text) => make("span", {}, text)) {
  const isShown = all.map(() => context === null);
  if (context !== null) {
    all.forEach((line, index) => {
      if (line.sign === " ") return;
      for (
        let near = Math.max(0, index - context); near <= Math.min(all.length - 1, index + context); near += 1
      ) isShown[near] = true;
    });
  }
  const rows = [];
  let isGap = false;
  all.forEach((line, index) => {
    if (!isShown[index]) {
      if (!isGap) rows.push(make("pre", { class: "gap" }, make("span"), make("span"), make("span", {}, "⋯")));
      isGap = true;
      return;
    }
    isGap = false;
    const kind = { "-": "removed", "+": "added", " ": "" }[line.sign];
    rows.push(make("pre", { class: kind },
      make("span", { class: "at", "aria-hidden": "true" }, line.sign === "+" ? line.after : line.before),
      make("span", { class: "sign" }, line.sign === "-" ? "−" : line.sign),
      show(line.text)));
  });
  return make("div", { class: "lines", dir: "ltr" }, rows);
}
