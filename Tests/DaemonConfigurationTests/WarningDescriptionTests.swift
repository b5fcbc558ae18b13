import Foundation
import TestSupport
import Testing

@testable import DaemonConfiguration

/// The manual's list of warnings.
@Suite struct WarningDescriptionTests {
    /// A configuration for each warning that depends on the text alone.
    private static let examples = [
        "sources: {}", withSource("group: no-such-group\nallow: { users: [], groups: [] }"),
        withDestination(
            "file: /d/out.xz\nkeep: { files: 3 }\ntransforms: [ { lua: \"event.a = 1\" } ]\nwhere: evnt = 1 or type = \"x\""
        ),
        withDestination(
            "file: /d/out\nmapping: { a: $properties.b, b: { \"@path\": $.event }, c: \"${X}\", token: abc }\ntransforms: [ { set: { properties.a: $.secret.k } } ]"
        ),
        withDestination("http: https://u:p@h/\nheaders: { Authorization: Bearer }") + "\n",
        withDestination(
            "http: https://h/\nheaders: { Authorization: \"Bearer {{ secret.empty }} {{ secret.none }}\" }"),
        withSource(
            "http: 127.0.0.1:1\nwrite_keys: [!secret short, !secret colon]\nmax_event_size: 1MiB\nmax_batch_size: 4KiB"),
        withFile("").replacing("to: [out]", with: "to: [other]").replacing(
            "  out:\n", with: "  other: { file: /d/other }\n  out:\n"),
    ]
    /// Warnings that depend on files, users or the user's presets have their own tests.
    private static let elsewhere = [
        "this file is not read: …", "presets/….yaml", "the setting \"…\"", "every user", "… belongs to",
        "… cannot be read", "the secret … was not", "the certificate",
    ]

    private static let found: [Diagnostic] = examples.flatMap { text -> [Diagnostic] in
        guard let directory = try? TemporaryDirectory(), (try? directory.write("empty", "")) != nil,
            (try? directory.write("none", "x")) != nil, (try? directory.write("short", "x")) != nil,
            (try? directory.write("colon", "abcdefgh:i")) != nil
        else { return [] }
        return ConfigurationLoader(
            credentialsDirectory: directory.path,
            accounts: KnownAccounts(hasUser: { _ in false }, hasGroup: { _ in false })
        ).load(text: text, named: "/etc/penstock/p.yaml").warnings
    }

    @Test func `each warning that is found is in the manual's list`() {
        #expect(Self.found.count >= 17)
        for warning in Self.found {
            #expect(WarningDescription.all.contains { $0.describes(warning.message) }, "\(warning.message)")
        }
    }

    @Test(arguments: WarningDescription.all.map(\.message))
    func `each warning in the manual's list can be found`(_ message: String) throws {
        guard !Self.elsewhere.contains(where: message.hasPrefix) else { return }
        let description = try #require(WarningDescription.all.first { $0.message == message })
        #expect(Self.found.contains { description.describes($0.message) })
        #expect(description.action.hasSuffix("."))
    }
}
