import Events

/// `lua: |`: the body of a function of `event`, for what the other transforms cannot say. It returns
/// an event, several (a list), or nothing, which drops it. What Lua's objects and lists are, what a
/// script can reach and what it costs: Scripts.md.
struct ScriptTransform: RewritingTransform {
    enum Policy: String, CaseIterable, Sendable {
        case drop, pass, dead_letter
    }

    static let declaration = TransformDeclaration.keys(
        "lua", ScriptTransform(), shorthand: "script",
        [
            Setting("script", \.script, .script("Lua"), required: true, "the body of a function of event"),
            Setting("on_error", \.policy, .choice, "what becomes of an event that the script fails on"),
            Setting(
                "instructions", \.limits.instructions, .integer(1_000...100_000_000),
                "how many of Lua's instructions one call may take"),
            Setting(
                "time", \.limits.time, .duration(.milliseconds(1)...(.seconds(10))),
                "how much processor time one call may take: for what is not counted as it should be"),
            Setting(
                "memory", \.limits.memory, .size((1 << 20)...(1 << 30), show: "8MiB"),
                "how much memory the script may have; no table gets more than a sixteenth of it, no text more than half of that"),
            Setting(
                "output", \.limits.output, .size((1 << 10)...(64 << 20), show: "1MiB"),
                "how many bytes the events have that one call gives"),
        ],
        example: "lua: \"event.properties.plan = 'pro'; return event\"",
        "a script: a function of the event that returns an event, several, or nothing")

    var script = ScriptText("", file: "", firstLine: 1)
    var policy = Policy.dead_letter
    var limits = Script.Limits()

    func check() -> [TransformError] {
        do throws(Script.Failure) {
            _ = try Script(script.text, limits: limits)
            return []
        } catch {
            return [TransformError(keys: ["script"], isKey: false, fault: fault(error))]
        }
    }

    /// At the beginning of the line that it happened in.
    private func fault(_ failure: Script.Failure) -> FilterError {
        let lines = script.text.split(separator: "\n", omittingEmptySubsequences: false)
        let line = max(0, min((failure.line ?? 1) - 1, lines.count - 1))
        let indent = lines[line].prefix { $0 == " " }.utf8.count
        let start = lines[..<line].reduce(0) { $0 + $1.utf8.count + 1 } + indent
        return FilterError(start..<start + lines[line].utf8.count - indent, "Lua: \(failure.message)")
    }

    func makeRewriter(_ table: inout PathTable) -> any EventRewriter { ScriptRewriter(self) }
}

private final class ScriptRewriter: EventRewriter {
    private let transform: ScriptTransform
    /// nil: there was no memory for it.
    private let script: Script?

    init(_ transform: ScriptTransform) {
        self.transform = transform
        script = try? Script(transform.script.text, limits: transform.limits)
    }

    func rewrite(_ view: borrowing EventView, into output: inout EventTexts) -> RewriteOutcome {
        guard let script else { return .reject("there was no memory for the script") }
        do throws(Script.Failure) {
            try script.call(view.json, seed: view.moment.position, into: &output)
            return .rewritten
        } catch {
            return outcome(error)
        }
    }

    private func outcome(_ failure: Script.Failure) -> RewriteOutcome {
        switch transform.policy {
        case .drop: return .rewritten
        case .pass: return .unchanged
        case .dead_letter:
            let place = failure.line.map { "\(transform.script.file):\(transform.script.firstLine + $0 - 1): " }
            return .reject((place ?? "") + failure.message)
        }
    }
}
