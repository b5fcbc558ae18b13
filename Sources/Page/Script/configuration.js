// The running configuration, beside the files on disk.

const fileTones = { same: "good", changed: "warn", added: "warn", removed: "warn", unreadable: "bad", unknown: "" };

function configurationView() {
  const banner = make("div", {});
  const comparison = reloadComparison();
  const files = make("div", { class: "files", role: "group", "aria-label": "Files" });
  const text = make("div", {});
  const subtitle = make("p", {});
  let report = null;
  let chosen = null;
  const view = make("section", { class: "view", "aria-label": "Configuration" },
    make("header", {}, make("h1", {}, "Configuration"), subtitle,
      make("button", { type: "button", class: "quiet spread", onclick: load }, "Compare again")),
    banner, comparison.element,
    make("section", { class: "panel" }, make("div", { class: "toolbar" }, files), text));

  async function load() {
    try {
      report = await daemon.get("/configuration");
    } catch (error) {
      put(banner, make("p", { class: "notice bad" }, isolated(error.message)));
      return;
    }
    if (!report.files.some((file) => file.path === chosen)) {
      chosen = (report.files.find((file) => file.state !== "same") ?? report.files[0])?.path ?? null;
    }
    show();
  }

  function show() {
    comparison.show(report);
    put(subtitle, "Applied ", report.applied_at.slice(0, 19).replace("T", " "), " UTC");
    const changed = report.files.filter((file) => file.state !== "same" && file.state !== "unknown");
    const refused = model.state.status?.refused_reload;
    put(banner,
      changed.length === 0 ? make("p", { class: "notice good" },
        make("strong", {}, "The files on disk are the running configuration."),
      )
        : make("div", { class: "notice warn" },
          make("strong", {},
            plural(changed.length, "file"), ` on disk ${changed.length === 1 ? "differs" : "differ"}`,
            " from the running configuration.",
          ),
          make("span", {},
            changed.length === 1 ? "It takes effect with " : "They take effect with ",
            make("code", {}, "systemctl reload penstock"), "; ", make("code", {}, "penstock check"),
            " shows errors first.",
          ),
          make("div", {}, comparison.button)),
      refused ? make("div", { class: "notice bad" }, make("strong", {},
        `The reload at ${clock(refused.time)} was refused.`,
      ),
        refused.errors.slice(0, 10).map((error) => make("pre", {}, error))) : null);
    const names = report.files.map((file) => file.path);
    const common = names.length > 1 ? names.reduce(
      (a, b) => { let i = 0; while (i < a.length && a[i] === b[i]) i += 1; return a.slice(0, i); },
    ).replace(/[^/]*$/, "") : "";
    put(files, report.files.map((file) => make("button", {
      type: "button", class: "quiet", "aria-pressed": String(file.path === chosen), title: file.path,
      onclick() { chosen = file.path; show(); },
    }, isolated(file.path.slice(common.length)), " ", file.state === "same" ? null : pill(
      file.state, fileTones[file.state],
    ))));
    const file = report.files.find((one) => one.path === chosen);
    if (!file) return put(text);
    // The final line feed begins no line.
    const split = (content) => (content ?? "").replace(/\n$/, "").split("\n");
    const old = file.running === undefined ? [] : split(file.running);
    const fresh = file.state === "removed" ? [] : file.on_disk === undefined ? old : split(file.on_disk);
    put(text, file.problem ? make("p", { class: "notice bad" }, isolated(file.problem)) : null,
      ["changed", "added", "removed"].includes(file.state) && !file.problem
        ? differenceLines(old, fresh, null, yaml) : differenceLines(old, old, null, yaml));
    return undefined;
  }

  load();
  return { view, stop: comparison.stop };
}
