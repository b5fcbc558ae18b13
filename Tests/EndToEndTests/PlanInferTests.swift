import Foundation
import Testing

/// `penstock plan infer` with a journal that the real daemon writes.
@Suite struct PlanInferTests {
    private func daemon() throws -> TestDaemon {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [out] } ]
                destinations: { out: { file: out.ndjson } }
                """)
        try daemon.start()
        return daemon
    }

    private func infer(_ daemon: TestDaemon, _ arguments: String...) throws -> Program {
        try Program.penstock(["plan", "infer", "--config", daemon.configurationFile] + arguments)
    }

    @Test func `a plan that is inferred from the journal can be enforced`() throws {
        let daemon = try daemon()
        let lines =
            (0..<400).map {
                #"{"type":"track","event":"Order \"\#($0 % 2)\"","userId":"u\#($0 % 40)","messageId":"m\#($0)","#
                    + #""properties":{"total":\#($0).5,"currency":"\#(["EUR", "USD"][$0 % 2])","email":"u\#($0 % 3)@example.com"}}"#
            }.joined(separator: "\n") + "\n"
        let client = try EventClient(daemon)
        try client.send(lines)
        #expect(try client.acknowledgement(of: 400).lines == 400)
        let inferred = try infer(daemon)
        #expect(inferred.status == 0, "\(inferred.errors)")
        #expect(inferred.output.hasPrefix("# Inferred from 400 events, received "), "\(inferred.output)")
        #expect(inferred.output.contains("  \"Order \\\"0\\\"\":  # 200 events\n"))
        #expect(inferred.output.contains("currency: { type: string, enum: [\"EUR\"], required: true }  # always"))
        #expect(!inferred.output.contains("example.com"))
        let file = daemon.path("plan.yaml")
        try inferred.output.write(toFile: file, atomically: true, encoding: .utf8)
        let checked = try Program.penstock(["plan", "check", file])
        #expect(checked.status == 0 && checked.output.contains("is valid: 2 events"), "\(checked.errors)")

        // The daemon refuses none of the same events under the plan, and another one.
        try daemon.write(
            configuration: """
                plan: { file: plan.yaml, on_violation: refuse }
                routes: [ { to: [out] } ]
                destinations: { out: { file: out.ndjson } }
                """)
        #expect(try daemon.penstock("reload").status == 0)
        #expect(try daemon.penstock("send", "--acks", input: lines).status == 0)
        let other = try daemon.penstock(
            "send", "--acks", input: #"{"type":"track","event":"Other","userId":"u","messageId":"x"}"# + "\n")
        #expect(other.status == 1 && other.errors.contains("unplanned"), "\(other.errors)")
    }

    @Test func `a filter and a time select events, and without one there is nothing to infer`() throws {
        let daemon = try daemon()
        let empty = try infer(daemon)
        #expect(empty.status == 1 && empty.output == "")
        #expect(empty.errors.contains("there is nothing to infer"), "\(empty.errors)")
        let client = try EventClient(daemon)
        try client.send(event(0, name: "A") + "\n" + event(1, name: "B") + "\n")
        #expect(try client.acknowledgement(of: 2).lines == 2)
        let one = try infer(daemon, "--where", "event = \"B\"")
        #expect(one.status == 0 && one.output.contains("  B: {}  # 1 event\n") && !one.output.contains("  A:"))
        #expect(try infer(daemon, "--from", "2100-01-01").status == 1)
        let wrong = try infer(daemon, "--where", "event =")
        #expect(wrong.status == 2 && wrong.errors.contains("--where:1:8: error: "), "\(wrong.errors)")
        #expect(try infer(daemon, "--directory", "/nonexistent").status == 2)
    }

    @Test(arguments: ["plan infer", "journal verify"])
    func `the progress is shown on a terminal, and the line is cleared`(command: String) throws {
        let daemon = try daemon()
        let client = try EventClient(daemon)
        try client.send(events(0..<2000))
        #expect(try client.acknowledgement(of: 2000).lines == 2000)
        let line =
            "\(TestDaemon.binaries)/penstock \(command) --config \(daemon.configurationFile) >\(daemon.path("result"))"
        // script(1) gives the command a terminal, and prints all that it writes there.
        let run = try Program.run("script", ["-qec", line, "/dev/null"])
        let label = command.split(separator: " ").last ?? ""
        #expect(run.output.contains("\r\u{1B}[K\(label)  [") && run.output.hasSuffix("\r\u{1B}[K"), "\(run.output)")
        #expect(!daemon.lines("result").isEmpty)
    }
}
