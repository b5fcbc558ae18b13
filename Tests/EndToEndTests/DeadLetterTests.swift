import Control
import Foundation
import TestSupport
import Testing

/// Events that a destination rejected, and the operator's commands for them.
@Suite struct DeadLetterTests {
    private func listed(_ daemon: TestDaemon, _ arguments: String...) throws -> [[String: Any]] {
        let list = try Program.penstock(
            ["dead-letters", "list", "collector", "--json", "--control", daemon.control] + arguments)
        try #require(list.status == 0, "\(list.errors)")
        return list.output.split(separator: "\n").compactMap { jsonObject(String($0)) }
    }

    /// A daemon whose collector has rejected events 0 to 19.
    private func daemon(_ receiver: HTTPReceiver, _ more: String = "") throws -> TestDaemon {
        receiver.server.change(to: [.status(400, body: "no such field")])
        let daemon = try TestDaemon(configuration: Self.configuration(receiver, more))
        try daemon.start()
        let sent = try daemon.penstock("send", "--acks", input: events(0..<20))
        try #require(sent.status == 0, "\(sent.errors)")
        try daemon.settle()
        try #require(try daemon.status().destinations["collector"]?.deadLetters?.letters == 20)
        return daemon
    }

    private static func configuration(_ receiver: HTTPReceiver, _ more: String = "") -> String {
        """
        routes: [ { to: [collector] } ]
        destinations:
          collector: { http: "\(receiver.url)", format: single, batch: { wait: 0s }\(more) }
        """
    }

    @Test func `dead letters are retried with the current configuration once the service works`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try daemon(receiver)
        // The service still rejects them: they become dead letters again with their attempts added up.
        let vain = try daemon.penstock("dead-letters", "retry", "collector", "--wait")
        #expect(
            vain.status == 1 && vain.output.contains("20 dead letters of collector are being retried"),
            "\(vain.output)\(vain.errors)")
        #expect(try listed(daemon).map { $0["attempts"] as? Int } == Array(repeating: 2, count: 20))
        #expect(Set(try listed(daemon).compactMap { $0["messageId"] as? String }).count == 20)

        receiver.server.change(to: [.status(200)])
        let before = receiver.server.requests.count
        try daemon.write(configuration: Self.configuration(receiver, ", mapping: { id: $.messageId }"))
        #expect(try daemon.reload().applied)
        let chosen = try daemon.penstock("dead-letters", "retry", "collector", "m-0000003", "4", "--wait", "--json")
        #expect(chosen.status == 0 && chosen.output.contains(#"{"letters":2}"#), "\(chosen.output)\(chosen.errors)")
        #expect(try listed(daemon).count == 18)
        let done = try daemon.penstock("dead-letters", "retry", "collector", "--wait")
        #expect(done.status == 0, "\(done.errors)")
        #expect(try listed(daemon).isEmpty)
        let bodies = receiver.events(from: before)
        #expect(
            Set(bodies) == Set((0..<20).map { #"{"id":"m-\#(String(repeating: "0", count: $0 < 10 ? 6 : 5))\#($0)"}"# })
        )
        #expect(bodies.count == 20)
        let status = try #require(try daemon.status().destinations["collector"])
        #expect(status.deadLetters?.retried == 20 && status.deadLetters?.letters == 0)
        #expect(try daemon.penstock("dead-letters", "retry", "collector").status == 1)
        #expect(daemon.terminate() == 0)
    }

    @Test func `dropped dead letters are gone for ever`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try daemon(receiver)
        // The stop saves the cursor, so that a kill does not send the delivered events again.
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let shown = try daemon.penstock("dead-letters", "show", "collector", "m-0000007")
        #expect(
            shown.status == 0 && shown.output.contains("no such field") && shown.output.contains(event(7)),
            "\(shown.output)")
        #expect(try daemon.penstock("dead-letters", "show", "collector", "m-0000099").status == 1)
        #expect(try daemon.penstock("dead-letters", "drop", "collector").status != 0, "drop needs a selection")
        let dropped = try daemon.penstock("dead-letters", "drop", "collector", "--where", "match(messageId, \"*1?\")")
        #expect(dropped.status == 0 && dropped.output.contains("10 dead letters"), "\(dropped.output)\(dropped.errors)")
        #expect(try listed(daemon).count == 10)
        #expect(try listed(daemon, "--limit", "3").count == 3)
        daemon.kill9()
        try daemon.start()
        let left = try listed(daemon).compactMap { $0["position"] as? Int }.sorted()
        #expect(left == Array(0..<10), "left: \(left)")
        #expect(try daemon.penstock("journal", "verify").status == 0)
        #expect(try daemon.penstock("dead-letters", "drop", "collector", "--all").status == 0)
        #expect(try listed(daemon).isEmpty)
        #expect(try daemon.penstock("journal", "dump", "--dead-letters", "collector").output == "")
        #expect(daemon.terminate() == 0)
    }

    @Test func `kill -9 during a retry loses no dead letter`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try daemon(receiver, ", in_flight: 2, timeout: 60s")
        let before = receiver.server.requests.count
        receiver.server.change(to: [.status(200), .status(200), .status(200), .hang])
        #expect(try daemon.penstock("dead-letters", "retry", "collector").status == 0)
        try eventually("some letters are delivered, and one hangs") { receiver.server.requests.count >= before + 4 }
        daemon.kill9()
        receiver.server.change(to: [.status(200)])
        try daemon.start()
        try eventually("the retry continues after the restart") { try listed(daemon).isEmpty }
        #expect(Set(receiver.events(from: before).compactMap(number)) == Set(0..<20))
        #expect(daemon.terminate() == 0)
    }

    @Test func `the oldest dead letters are dropped and counted when the store is full`() throws {
        let receiver = try HTTPReceiver([.status(400)])
        let daemon = try TestDaemon(
            configuration: Self.configuration(
                receiver, ", in_flight: 1, dead_letters: { size: 64KiB, when_full: drop_oldest }"))
        try daemon.start()
        let padding = #","properties":{"text":"\#(String(repeating: "x", count: 2000))"}"#
        let text = (0..<100).map { event($0, fields: padding) + "\n" }.joined()
        let sent = try daemon.penstock("send", "--acks", input: text)
        #expect(sent.status == 0, "\(sent.errors)")
        try daemon.settle()
        let letters = try #require(try daemon.status().destinations["collector"]?.deadLetters)
        #expect(letters.expired > 0 && letters.letters + letters.expired == 100 && letters.bytes <= 64 << 10)
        #expect(try listed(daemon).last?["messageId"] as? String == "m-0000099", "the newest dead letter is kept")
        #expect(daemon.terminate() == 0)
    }
}
