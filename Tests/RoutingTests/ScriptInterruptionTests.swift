import Configuration
import Events
import Foundation
import Testing

@testable import Routing

/// A script that runs for seconds, and for minutes where its bounds are as wide as they can be.
private let endless = "while true do end"
private let wide = Script.Limits(instructions: 100_000_000, time: .seconds(10))

@Suite("A script that is to be interrupted")
struct ScriptInterruptionTests {
    /// Raises it from another thread, when the script is in its call or soon will be: either way it has to end.
    private func interruptSoon(_ interruption: Interruption) {
        Thread {
            usleep(2000)
            interruption.raise()
        }.start()
    }

    private func message(_ script: Script, _ event: String = "{}") -> String? {
        var output = EventTexts()
        do throws(Script.Failure) {
            try script.call(event.utf8.span, seed: 1, into: &output)
            return nil
        } catch {
            return error.message
        }
    }

    @Test(
        "ends in the middle of what it does, long before its bounds", .timeLimit(.minutes(2)),
        arguments: [
            endless, "for i = 1, 1e9 do local t = {} end",
            "local t = {} for i = 1, 2000 do t[i] = i end while true do table.sort(t, function(a, b) return a > b end) end",
            "while true do local s = ('ab'):rep(1000):gsub('b', function(c) return c end) end",
        ])
    func running(text: String) throws {
        let interruption = Interruption()
        let script = try Script(text, limits: wide, interruption: interruption)
        interruptSoon(interruption)
        #expect(message(script) == "interrupted: the destination stops")
    }

    @Test("does not begin another call")
    func before() throws {
        let interruption = Interruption()
        let script = try Script("return event", limits: .init(), interruption: interruption)
        #expect(message(script) == nil)
        interruption.raise()
        #expect(message(script) == "interrupted: the destination stops")
    }

    @Test("without somebody who may interrupt it, ends at its bounds")
    func bounded() throws {
        let script = try Script(endless, limits: .init(instructions: 10_000))
        #expect(message(script) == "stopped after 10000 instructions")
    }

    @Test("takes a router's whole chain with it, however many events it made of one", .timeLimit(.minutes(2)))
    func chain() throws {
        let steps = try transforms(
            """
            - lua: |
                local all = list()
                for i = 1, 1000 do all[i] = { type = "track", event = "A", userId = "u" } end
                return all
            - lua: { script: "while true do end", instructions: 100000000, time: 10s, on_error: drop }
            """)
        let interruption = Interruption()
        let router = DestinationRouter(
            name: "out", routes: [.init(filter: .always, transforms: steps)], journal: [UInt8](repeating: 1, count: 16),
            interruption: interruption)
        #expect(router.mayTakeLong)
        let sample = SampleEvent(#"{"type":"track","event":"A","messageId":"m","userId":"u"}"#)
        interruptSoon(interruption)
        var output: [UInt8] = []
        // The bounds alone would let it take hours.
        _ = router.route(sample.record, of: sample.batch, into: &output)
    }

    @Test("is known beforehand: a router says whether it calls any")
    func known() throws {
        func mayTakeLong(_ text: String) throws -> Bool {
            DestinationRouter(
                name: "out", routes: [.init(filter: .always, transforms: try transforms(text))],
                journal: [UInt8](repeating: 1, count: 16)
            ).mayTakeLong
        }
        #expect(try mayTakeLong("- lua: return event"))
        #expect(try !mayTakeLong("- set: { a: 1 }\n- redact: [card]"))
    }
}
