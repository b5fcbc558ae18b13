import Events
import TestSupport
import Testing
import TrackingPlan

@testable import DaemonConfiguration
@testable import Routing

/// Numbers at the limits of their types, in tracking plans and in scripts.
@Suite struct ExtremeNumberTests {
    /// A plan compares bounds as JSONNumber does: exactly for integers of 64 bits, otherwise as floating point.
    @Test(arguments: ["number", "integer"])
    func `a plan with any bounds gives a verdict on every number`(type: String) throws {
        for bound in Extremes.numbers {
            for key in ["minimum", "maximum"] {
                let diagnostics = Diagnostics()
                let text = "events: { E: { properties: { n: { type: \(type), \(key): \(bound) } } } }"
                let plan = TrackingPlan.read(ConfigurationFile(path: "plan.yaml", text: text), diagnostics)
                guard let rules = plan?.rules(diagnostics), diagnostics.list.isEmpty else {
                    #expect(diagnostics.list.allSatisfy { !$0.message.isEmpty } && !diagnostics.list.isEmpty, "\(text)")
                    continue
                }
                let enforcer = PlanEnforcer(
                    rules, onViolation: .refuse, limit: 20, maximumEventSize: 1 << 16, maximumDepth: 64)
                for number in Extremes.numbers {
                    let verdict = try judge(
                        #"{"type":"track","event":"E","userId":"u","properties":{"n":\#(number)}}"#, enforcer)
                    // A number satisfies an equal bound, unless the plan requires an integer and it is not one.
                    if number == bound, let value = Double(number), type == "number" || value.rounded() == value {
                        #expect(verdict == .pass, "\(number) \(key) \(bound)")
                    }
                }
            }
        }
    }

    private func judge(_ event: String, _ enforcer: PlanEnforcer) throws -> PlanEnforcer.Verdict {
        let scanner = EventScanner(maximumEventSize: 1 << 16, maximumDepth: 64)
        var (accepted, refused) = ([ScannedEvent](), [RefusedLine]())
        let bytes = Array((event + "\n").utf8)
        _ = scanner.scan(bytes.span, accepted: &accepted, refused: &refused)
        let scanned = try #require(accepted.first, "\(event)")
        let json = bytes.span.extracting(Int(scanned.offset)..<Int(scanned.offset) + Int(scanned.length))
        return enforcer.judge(json, scanned.index, room: .max)
    }

    private static let expressions = [
        "n", "-n", "n + 1", "n - 1", "n * n", "n / 0", "n // 1", "n % 7", "n ^ n", "n << 1", "n >> 63", "n & -1", "~n",
        "n == n and n < 1",
        "math.tointeger(n)", "math.abs(n)", "math.floor(n)", "math.ceil(n)", "math.fmod(n, 2)", "math.ult(n, 1)",
        "math.random(n)",
        "math.random(n, math.maxinteger)", "tostring(n)", "tonumber(tostring(n))", "tonumber('7', n)",
        "string.format('%d', n)",
        "string.format('%.20f', n)", "string.format('%' .. tostring(n) .. 's', 'x')", "string.char(n)",
        "('abc'):sub(n)", "('abc'):sub(1, n)",
        "('abc'):byte(n)", "('abc'):find('b', n)", "('ab'):rep(n)", "('ab'):rep(3, 'x')", "('abc'):gsub('.', 'x', n)",
        "select(n, 1, 2)",
        "table.concat({1, 2}, ',', n)", "table.concat({1, 2}, ',', 1, n)", "table.unpack({1, 2}, n)",
        "table.unpack({1, 2}, 1, n)",
        "table.insert({1}, n, 2)", "table.remove({1}, n)", "utf8.char(n)", "utf8.codepoint('abc', n)",
        "utf8.len('abc', n)",
        "utf8.offset('abc', n)", "utf8.offset('abc', 1, n)", "({1, 2})[n]", "{ [n] = 1 }",
    ]

    @Test(arguments: expressions)
    func `a script that reads any number returns a valid event or fails`(expression: String) throws {
        let script = try Script("local n = event.n return { v = \(expression) }", limits: Script.Limits())
        let scanner = EventScanner(maximumEventSize: 1 << 20, maximumDepth: 64)
        for number in Extremes.numbers + ["9223372036854775807.5", "2.2250738585072014e-308"] {
            var output = EventTexts()
            do {
                try script.call("{\"n\":\(number)}".utf8.span, seed: 1, into: &output)
            } catch {
                #expect(!error.message.isEmpty)
                continue
            }
            for index in 0..<output.count {
                let made = String(decoding: output.bytes[output.range(of: index)], as: UTF8.self)
                // The scanner checks that the output is valid JSON.
                let line = Array((#"{"type":"track","event":"E","userId":"u","properties":\#(made)}"# + "\n").utf8)
                var (accepted, refused) = ([ScannedEvent](), [RefusedLine]())
                _ = scanner.scan(line.span, accepted: &accepted, refused: &refused)
                #expect(accepted.count == 1, "\(number): \(made)")
            }
        }
    }
}
