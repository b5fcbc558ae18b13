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

    /// This one stands only where the one that is required is missing, which was told.
    var script = ScriptText("return event", file: "", lines: [1])
    var policy = Policy.dead_letter
    var limits = Script.Limits()

    func check() -> [TransformError] {
        guard script.lastLine != nil else {
            let fault = FilterError(0..<0, "a script with nothing in it drops every event", hint: "write the body of a function of event")
            return [TransformError(keys: ["script"], isKey: false, fault: fault)]
        }
        do throws(Script.Failure) {
            _ = try Script(script.text, limits: limits)
            return []
        } catch {
            return [TransformError(keys: ["script"], isKey: false, fault: fault(error))]
        }
    }

    func advice() -> [TransformError] {
        guard !ScriptReturns.value(in: script.text) else { return [] }
        let fault = FilterError(0..<1, "this script never returns a value, so that no event passes it", hint: "end it with: return event")
        return [TransformError(keys: ["script"], isKey: false, fault: fault)]
    }

    /// At the beginning of the line that it happened in.
    private func fault(_ failure: Script.Failure) -> FilterError {
        let texts = script.texts
        let line = script.index(of: failure.line)
        let indent = texts[line].prefix { $0 == UInt8(ascii: " ") }.count
        let start = texts[..<line].reduce(0) { $0 + $1.count + 1 } + indent
        return FilterError(start..<start + texts[line].count - indent, "Lua: \(script.translate(failure.message))")
    }

    var mayTakeLong: Bool { true }

    func makeRewriter(_ table: inout PathTable, _ surroundings: StageSurroundings) -> any EventRewriter {
        ScriptRewriter(self, surroundings.interruption)
    }
}

private final class ScriptRewriter: EventRewriter {
    private let transform: ScriptTransform
    /// nil: there was no memory for it.
    private let script: Script?

    init(_ transform: ScriptTransform, _ interruption: Interruption?) {
        self.transform = transform
        script = try? Script(transform.script.text, limits: transform.limits, interruption: interruption)
    }

    func rewrite(_ view: borrowing EventView, into output: inout EventTexts) -> RewriteOutcome {
        guard let script else {
            return outcome(Script.Failure(line: nil, message: "there was no memory for the script"))
        }
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
            return .reject("\(transform.script.file):\(transform.script.fileLine(of: failure.line)): \(failure.message)")
        }
    }
}

extension ScriptText {
    /// Its lines, as Lua counts them; there is at least one.
    fileprivate var texts: [Substring.UTF8View] { text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) }

    /// The last line with something in it, from 0; nil: there is none.
    fileprivate var lastLine: Int? {
        texts.lastIndex { !$0.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) } }
    }

    /// From 0. What ends too early is told by Lua behind the end, where something else stands in the file.
    /// - Parameter line: as Lua tells it, from 1; nil: the first one.
    fileprivate func index(of line: Int?) -> Int { max(0, min((line ?? 1) - 1, lastLine ?? 0)) }

    fileprivate func fileLine(of line: Int?) -> Int { lines[min(index(of: line), lines.count - 1)] }

    /// The script's lines in one of Lua's messages become the file's: `(to close 'if' at line 2) near <eof>`.
    fileprivate func translate(_ message: String) -> String {
        let end = message.ranges(of: " near ").last?.lowerBound ?? message.endIndex
        let told = message[..<end].replacing(/(at|on) line ([0-9]+)/) { match in
            "\(match.1) line \(fileLine(of: Int(match.2)))"
        }
        return String(told + message[end...])
    }
}
