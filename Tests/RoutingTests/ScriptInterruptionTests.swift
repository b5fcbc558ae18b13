import DaemonConfiguration
import Events
import Foundation
import Testing

@testable import Routing

/// A script that runs until its limits stop it: for seconds, or for minutes with the widest limits.
private let endless = "while true do end"
private let wide = Script.Limits(instructions: 100_000_000, time: .seconds(10))

@Suite("Interrupted scripts")
struct ScriptInterruptionTests {
    /// Raises the interruption from another thread, before or during the script's call. Both must end the script.
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
        .timeLimit(.minutes(2)),
        arguments: [
            endless, "for i = 1, 1e9 do local t = {} end",
            "local t = {} for i = 1, 2000 do t[i] = i end while true do table.sort(t, function(a, b) return a > b end) end",
            "while true do local s = ('ab'):rep(1000):gsub('b', function(c) return c end) end",
        ])
    func `a running script ends long before its limits`(text: String) throws {
        let interruption = Interruption()
        let script = try Script(text, limits: wide, interruption: interruption)
        interruptSoon(interruption)
        #expect(message(script) == "interrupted: the destination stops")
    }

    @Test
    func `an interrupted script is not called again`() throws {
        let interruption = Interruption()
        let script = try Script("return event", limits: .init(), interruption: interruption)
        #expect(message(script) == nil)
        interruption.raise()
        #expect(message(script) == "interrupted: the destination stops")
    }

    @Test
    func `a script without an interruption ends at its limits`() throws {
        let script = try Script(endless, limits: .init(instructions: 10_000))
        #expect(message(script) == "stopped after 10000 instructions")
    }

    @Test(.timeLimit(.minutes(2)))
    func `an interruption ends the whole chain of a router's transforms, however many events a script made`() throws {
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
        // The limits alone would allow hours.
        _ = router.route(sample.record, of: sample.batch, into: &output)
    }

    @Test
    func `a router reports whether it calls a script`() throws {
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
