import DaemonConfiguration
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Assembly

/// Warnings about files that other users can read, write or own, tested with real files.
@Suite struct AccessCheckTests {
    private static let text = """
        sources: { a: { socket: s } }
        control: { socket: c }
        journal: { directory: j }
        secrets: { directory: secrets }
        routes: [ { to: [d] } ]
        destinations:
          d: { http: "https://h.example/", headers: { Authorization: "Bearer {{ secret.k }}" } }
        """

    /// A configuration with a secret and a fragment, in a directory that other users can enter. All permissions are
    /// safe.
    private final class Files {
        let directory: TemporaryDirectory

        init() throws {
            directory = try TemporaryDirectory(in: "/tmp")
            try directory.write("p.yaml", AccessCheckTests.text)
            try directory.write("conf.d/a.yaml", "# nothing")
            try directory.write("secrets/k", "abc")
            for (name, mode) in [
                ("", 0o755), ("p.yaml", 0o644), ("conf.d", 0o755), ("conf.d/a.yaml", 0o644), ("secrets", 0o750),
                ("secrets/k", 0o640),
            ] {
                try change(name, to: mode_t(mode))
            }
        }

        func path(_ name: String) -> String { name.isEmpty ? directory.path : "\(directory.path)/\(name)" }

        func change(_ name: String, to mode: mode_t) throws { try #require(unsafe chmod(path(name), mode) == 0) }

        /// The warnings as `FILE:LINE:COLUMN message; hint`, without the directory's name.
        func warnings() -> [String] {
            ConfigurationCheck.run(file: path("p.yaml"), pluginDirectories: []).diagnostics.map { diagnostic in
                "\(diagnostic.place.name) \(diagnostic.message); \(diagnostic.hint ?? "")".replacing(
                    directory.path + "/", with: ""
                ).replacing(directory.path, with: ".")
            }
        }
    }

    @Test
    func `files with safe permissions have no warnings`() throws { #expect(try Files().warnings() == []) }

    @Test(
        arguments: [
            (
                "secrets/k", 0o644,
                "p.yaml:7:70 every user of this machine can read the file of the secret k; chmod o-rwx secrets/k",
                ["secrets": 0o751]
            ),
            (
                "secrets/k", 0o642,
                "p.yaml:7:70 every user of this machine can change the file of the secret k; chmod o-w secrets/k",
                ["secrets": 0o751]
            ),
            (
                "secrets", 0o755,
                "p.yaml:4:23 every user of this machine can read the secrets' directory; chmod o-rwx secrets", [:]
            ),
            (
                "secrets", 0o753,
                "p.yaml:4:23 every user of this machine can change the secrets' directory; chmod o-w secrets", [:]
            ),
            (
                "p.yaml", 0o646,
                "p.yaml:1:1 every user of this machine can change this file of the configuration; chmod o-w p.yaml", [:]
            ),
            (
                "conf.d/a.yaml", 0o666,
                "conf.d/a.yaml:1:1 every user of this machine can change this file of the configuration; chmod o-w conf.d/a.yaml",
                [:]
            ),
            (
                "conf.d", 0o757,
                "conf.d/a.yaml:1:1 every user of this machine can change the directory of this file, conf.d,; chmod o-w conf.d",
                [:]
            ),
        ] as [(String, mode_t, String, [String: mode_t])])
    func `a file that every user can read or change is a warning`(
        _ name: String, _ mode: mode_t, _ expected: String, _ others: [String: mode_t]
    ) throws {
        let files = try Files()
        for (other, mode) in others { try files.change(other, to: mode) }
        try files.change(name, to: mode)
        #expect(files.warnings() == [expected])
        // No other user can reach a file below a directory that they cannot enter.
        try files.change("", to: 0o750)
        #expect(files.warnings() == [])
    }

    @Test func `a sticky directory that every user can write to has no warning`() throws {
        let files = try Files()
        try files.change("conf.d", to: 0o1777)
        #expect(files.warnings() == [])
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can give a file away"),
        arguments: [
            ("p.yaml", "p.yaml:1:1 this file of the configuration"),
            ("conf.d/a.yaml", "conf.d/a.yaml:1:1 this file of the configuration"),
            ("conf.d", "conf.d/a.yaml:1:1 the directory of this file, conf.d,"),
            ("secrets", "p.yaml:4:23 the secrets' directory"),
            ("secrets/k", "p.yaml:7:70 the file of the secret k"),
        ])
    func `a file of another user is a warning`(_ name: String, _ subject: String) throws {
        let files = try Files()
        try #require(unsafe chown(files.path(name), 1, 0) == 0)
        #expect(files.warnings() == ["\(subject) belongs to daemon, who can change it; chown root \(name)"])
        try #require(unsafe chown(files.path(name), 4_123_456, 0) == 0)
        #expect(files.warnings() == ["\(subject) belongs to the user 4123456, who can change it; chown root \(name)"])
    }

    @Test func `a private key that every user can read is a warning`() throws {
        let files = try Files()
        let key = try files.directory.write("key.pem", "x")
        try #require(unsafe chmod(key, 0o644) == 0)
        try AccessCheckTests.text.replacing("headers:", with: "tls: { key: key.pem, certificate: key.pem }, headers:")
            .write(toFile: files.path("p.yaml"), atomically: false, encoding: .utf8)
        #expect(
            files.warnings().contains(
                "p.yaml:7:48 every user of this machine can read this private key; chmod o-rwx key.pem"),
            "\(files.warnings())")
    }
}
