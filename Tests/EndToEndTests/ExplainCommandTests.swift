import Foundation
import Testing

/// `penstock explain`, `penstock test` and `penstock check --schema`: their output and exit status.
@Suite struct ExplainCommandTests {
    private static let quickstart = Repository.root + "/etc/penstock/examples/quickstart.yaml"
    private static let order = #"{"type":"track","event":"Order Completed","messageId":"m1","userId":"ada"}"#

    @Test func `explain describes each event and fails if one would be refused`() throws {
        let result = try Program.penstock(
            ["explain", "--config", Self.quickstart, "-"], input: Self.order + "\n{\n}\n")
        #expect(result.status == 1, "\(result.errors)")
        #expect(
            result.output.hasPrefix("track \"Order Completed\" of user ada · 74 bytes · received "), "\(result.output)")
        #expect(result.output.contains("\n✓ collector · route who bought what\n"))
        #expect(result.output.contains("\n✗ warehouse · no route selects the event (no_route)\n"))
        #expect(result.output.contains("\n\nan event · 3 bytes · "))
        #expect(result.output.contains("\n✗ refused: unknown_type\n"), "\(result.output)")
        #expect(!result.output.contains("\u{1B}"), "colours only on a terminal")
        let fine = try Program.penstock(
            ["explain", "--config", Self.quickstart, "--destination", "archive"], input: Self.order)
        #expect(fine.status == 0, "\(fine.errors)")
        #expect(!fine.output.contains("collector"))
    }

    @Test func `explain prints JSON for scripts`() throws {
        let result = try Program.penstock(["explain", "--json", "--config", Self.quickstart], input: Self.order)
        #expect(result.status == 0, "\(result.errors)")
        let report = try #require(jsonObject(result.output))
        let destinations = try #require(report["destinations"] as? [String: [String: Any]])
        #expect(destinations["collector"]?["verdict"] as? String == "routed")
        #expect(destinations["warehouse"]?["reason"] as? String == "no_route")
    }

    @Test(arguments: [
        (["--config", "/nonexistent/p.yaml"], "/nonexistent/p.yaml:1:1: error: cannot be read"),
        (["--config", quickstart, "/nonexistent"], "/nonexistent"),
        (["--config", quickstart, "--destination", "nobody"], "there is no destination \"nobody\""),
        (["--config", quickstart, "--destination", "arhcive"], "hint: did you mean \"archive\"?"),
        (["--config", quickstart, "--source", "nobody"], "there is no source \"nobody\""),
        (["--config", quickstart, "-"], "there is no event"),
    ])
    func `explain exits with status 2 if it cannot start`(_ arguments: [String], _ message: String) throws {
        let result = try Program.penstock(["explain"] + arguments)
        #expect(result.status == 2)
        #expect(result.output == "")
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    @Test func `explain takes its events from one place only`() throws {
        let result = try Program.penstock(["explain", "--config", Self.quickstart, "--from-journal", "1", "x.json"])
        #expect(result.status != 0 && result.output == "")
        #expect(
            result.errors.contains("the event comes from the journal: leave out x.json, or --from-journal"),
            "\(result.errors)")
    }

    @Test func `test runs the test files beside the configuration`() throws {
        let result = try Program.penstock(["test", "--config", Self.quickstart])
        #expect(result.status == 0, "\(result.errors)\(result.output)")
        #expect(result.output.contains("  ✓ an order is sent to the archive and the collector\n"))
        #expect(result.output.hasSuffix(" tests, all passed\n"))
    }

    @Test func `test fails with a diff and writes a JUnit report`() throws {
        let directory = FileManager.default.temporaryDirectory.path + "/penstock-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let tests = directory + "/t.yaml"
        try "tests: [ { event: \(Self.order), expect: { archive: { event: { userId: eve } } } } ]"
            .write(toFile: tests, atomically: true, encoding: .utf8)
        let result = try Program.penstock([
            "test", "--config", Self.quickstart, "--junit", directory + "/junit.xml", tests,
        ])
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.output.contains("- userId  \"eve\"  expected\n"), "\(result.output)")
        #expect(result.output.hasSuffix("1 test, 1 failed\n"))
        #expect(try String(contentsOfFile: directory + "/junit.xml", encoding: .utf8).contains("failures=\"1\""))
        let filter = try Program.penstock([
            "explain", "--config", Self.quickstart, "--where", "event = 'ü' and nope(x)",
        ])
        #expect(filter.status == 2)
        #expect(
            filter.errors.contains("--where:1:17: error: ") && filter.errors.contains("\n                ^~~~"),
            "\(filter.errors)")
        let nowhere = try Program.penstock([
            "test", "--config", Self.quickstart, "--junit", directory + "/none/j.xml", tests,
        ])
        #expect(nowhere.status == 2)
        #expect(
            nowhere.errors.contains("/none/j.xml cannot be written: there is no directory \(directory)/none"),
            "\(nowhere.errors)")
        // An invalid test file, and a configuration without tests.
        try "tests: [ { evnt: 1 } ]".write(toFile: tests, atomically: true, encoding: .utf8)
        let invalid = try Program.penstock(["test", "--config", Self.quickstart, tests])
        #expect(invalid.status == 2)
        #expect(invalid.errors.contains("\(tests):1:12: error: unknown key \"evnt\""), "\(invalid.errors)")
        let none = try Program.penstock(["test", "--config", directory + "/p.yaml"])
        #expect(none.status == 2)
        #expect(none.errors.contains("there are no tests"), "\(none.errors)")
    }

    @Test func `check prints the JSON Schema`() throws {
        let result = try Program.penstock(["check", "--schema"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(jsonObject(result.output)?["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
    }
}
