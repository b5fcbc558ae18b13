import Events

/// `lua: |`: the body of a Lua function of `event`, for rules that the other transforms cannot express. It returns an
/// event, a list of events, or nothing to drop the event. Scripts.md describes how Lua represents JSON, what a script
/// can access and what it costs.
struct ScriptTransform: RewritingTransform {
    enum Policy: String, CaseIterable, Sendable {
        case drop, pass, dead_letter
    }

    static let declaration = TransformDeclaration.keys(
        "lua", ScriptTransform(), shorthand: "script",
        [
            Setting("script", \.script, .script("Lua"), required: true, "the body of a function of event"),
            Setting("on_error", \.policy, .choice, "what to do with an event when the script fails"),
            Setting(
                "instructions", \.limits.instructions, .integer(1_000...100_000_000),
                "maximum Lua instructions for one call"),
            Setting(
                "time", \.limits.time, .duration(.milliseconds(1)...(.seconds(10))),
                "maximum processor time for one call; bounds operations that take long without many instructions"),
            Setting(
                "memory", \.limits.memory, .size((1 << 20)...(1 << 30), show: "8MiB"),
                "maximum memory of the script; one table may use 1/16 of it, one text 1/32"),
            Setting(
                "output", \.limits.output, .size((1 << 10)...(64 << 20), show: "1MiB"),
                "maximum total size of the events that one call returns"),
        ],
        example: "lua: \"event.properties.plan = 'pro'; return event\"",
        "runs a Lua function on the event; it returns an event, a list of events, or nothing")

    /// Required. This placeholder is used only after the missing setting has been reported.
    var script = ScriptText("return event", file: "", lines: [1])
    var policy = Policy.dead_letter
    var limits = Script.Limits()

    func check() -> [TransformError] {
        guard script.lastLine != nil else {
            let fault = FilterError(
                0..<0, "the script is empty, so it would drop every event",
                hint: "write the body of a function of event")
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
        let fault = FilterError(
            0..<1, "this script never returns a value, so it drops every event", hint: "end it with: return event")
        return [TransformError(keys: ["script"], isKey: false, fault: fault)]
    }

    /// Places an error at the line of the script where it happened.
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
    /// nil: not enough memory to create it.
    private let script: Script?

    init(_ transform: ScriptTransform, _ interruption: Interruption?) {
        self.transform = transform
        script = try? Script(transform.script.text, limits: transform.limits, interruption: interruption)
    }

    func rewrite(_ view: borrowing EventView, into output: inout EventTexts) -> RewriteOutcome {
        guard let script else {
            return outcome(Script.Failure(line: nil, message: "not enough memory to create the script"))
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
            return .reject(
                "\(transform.script.file):\(transform.script.fileLine(of: failure.line)): \(failure.message)")
        }
    }
}

extension ScriptText {
    /// The lines of the script as Lua counts them; at least one.
    fileprivate var texts: [Substring.UTF8View] { text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) }

    /// Index of the last line that is not blank, starting at 0; nil: all lines are blank.
    fileprivate var lastLine: Int? {
        texts.lastIndex { !$0.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) } }
    }

    /// Converts a line number from Lua to an index that starts at 0. Lua reports an unexpected end after the last line.
    /// In the file that line belongs to something else, so the last non-blank line is used.
    /// - Parameter line: Lua's line number, starting at 1; nil: the first line.
    fileprivate func index(of line: Int?) -> Int { max(0, min((line ?? 1) - 1, lastLine ?? 0)) }

    fileprivate func fileLine(of line: Int?) -> Int { lines[min(index(of: line), lines.count - 1)] }

    /// Converts line numbers in a Lua message from the script's lines to the file's, as in `(to close 'if' at line 2)
    /// near <eof>`.
    fileprivate func translate(_ message: String) -> String {
        let end = message.ranges(of: " near ").last?.lowerBound ?? message.endIndex
        let translated = message[..<end].replacing(/(at|on) line ([0-9]+)/) { match in
            "\(match.1) line \(fileLine(of: Int(match.2)))"
        }
        return String(translated + message[end...])
    }
}
