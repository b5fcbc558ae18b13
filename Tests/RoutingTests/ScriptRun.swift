import Events
import Testing

@testable import Routing

/// The result of a script for one event.
enum ScriptOutcome: Equatable {
    case events([String])
    case failed(line: Int?, String)
}

/// Runs scripts for tests.
protocol ScriptRun {}

extension ScriptRun {
    func run(_ script: String, _ event: String, limits: Script.Limits = .init(), seed: UInt64 = 7) -> ScriptOutcome {
        do throws(Script.Failure) {
            return try call(Script(script, limits: limits), event, seed: seed)
        } catch {
            return .failed(line: error.line, error.message)
        }
    }

    func call(_ script: Script, _ event: String, seed: UInt64 = 7) -> ScriptOutcome {
        var output = EventTexts()
        do throws(Script.Failure) {
            try script.call(event.utf8.span, seed: seed, into: &output)
        } catch {
            return .failed(line: error.line, error.message)
        }
        return .events((0..<output.count).map { String(decoding: output.bytes[output.range(of: $0)], as: UTF8.self) })
    }

    /// The JSON of an expression's value as a member of an event.
    func value(_ expression: String, _ event: String = "{}") -> String? {
        guard case .events(let events) = run("return { v = \(expression) }", event), let text = events.first else {
            return nil
        }
        return text.hasPrefix(#"{"v":"#) ? String(text.dropFirst(5).dropLast()) : text
    }
}
