import Control
import Testing

/// What clients really send: ids that are empty or numbers, and characters that were cut in two.
@Suite struct NormalisedEventTests {
    private static let archive = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    private static let lines = [
        #"{"type":"page","userId":7,"messageId":"1"}"#,
        #"{"type":"page","userId":"","anonymousId":"a","messageId":"2"}"#,
        #"{"type":"page","userId":"u","name":"\ud83d","messageId":"3"}"#,
        #"{"type":"identify","userId":"u","context":{"traits":{"plan":"pro"}},"messageId":"4"}"#,
        #"{"type":"page","userId":true,"messageId":"5"}"#,
    ]

    @Test func `a lenient source repairs and counts events, and a reload makes it strict for new clients`() throws {
        let daemon = try TestDaemon(
            configuration: Self.archive,
            sources: "{ apps: { socket: events.sock, ids: lenient, invalid_text: replace } }")
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(Self.lines.map { $0 + "\n" }.joined())
        let answer = try client.acknowledgement(of: 5)
        #expect(answer.lines == 5)
        #expect(answer.refusals.count == 1)
        try daemon.settle()
        #expect(
            daemon.lines("archive.ndjson") == [
                Self.lines[0].replacing("7", with: "\"7\""), Self.lines[1],
                Self.lines[2].replacing("d83d", with: "fffd"), Self.lines[3],
            ])
        let source = try daemon.status().sources["apps"]
        #expect(
            source?.normalised == ["numeric_ids": 1, "empty_ids": 1, "replaced_text": 1, "context_traits": 1])
        #expect(source?.refusedByReason == ["id_not_string": 1])
        let shown = try daemon.penstock("status").output
        #expect(
            shown.contains(
                "apps normalised events: context_traits 1, empty_ids 1, numeric_ids 1, replaced_text 1\n"), "\(shown)")

        try daemon.write(configuration: Self.archive)
        _ = try daemon.reload()
        let strict = try EventClient(daemon)
        try strict.send(Self.lines.map { $0 + "\n" }.joined())
        #expect(try strict.acknowledgement(of: 5).refusals.count == 3)
        #expect(daemon.terminate() == 0)
    }
}
