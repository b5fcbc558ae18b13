import DaemonConfiguration
import Foundation
import TestSupport
import Testing

@testable import Assembly

/// The findings of `penstock check` beyond the text: conflicting paths and the state of the disk.
@Suite struct ConfigurationCheckTests {
    /// The findings for a configuration in its own directory, as lines without that directory's name.
    private func findings(_ text: String, in directory: TemporaryDirectory? = nil) throws -> [String] {
        let directory = try directory ?? TemporaryDirectory()
        let file = try directory.write("p.yaml", text)
        let before = try FileManager.default.subpathsOfDirectory(atPath: directory.path)
        let diagnostics = ConfigurationCheck.run(file: file, pluginDirectories: []).diagnostics
        #expect(try FileManager.default.subpathsOfDirectory(atPath: directory.path) == before, "unchanged")
        return diagnostics.map { diagnostic in
            #expect(diagnostic.place.excerpt != nil, "\(diagnostic)")
            return "\(diagnostic.place.line):\(diagnostic.place.column): \(diagnostic.message)"
                .replacingOccurrences(of: directory.path, with: "DIR")
        }
    }

    private func with(_ destinations: String, journal: String = "{ directory: j }") -> String {
        """
        journal: \(journal)
        sources: { a: { socket: s } }
        control: { socket: c }
        routes: [ { where: true, to: [d] } ]
        destinations:
          d: { \(destinations) }
        """
    }

    private static let inJournal = "in the journal's directory, where only the journal may have files"

    @Test(arguments: [
        ("file: j/manifest", "this path is \(inJournal)"),
        ("file: x/..//j/./files/d", "this path is \(inJournal)"),
        ("file: j", "this path is also the journal's directory"),
        ("file: \"{{ userId }}/x\"", "this path can be \(inJournal)"),
        ("file: \"%Y/../j/x\"", "this path can be \(inJournal)"),
        ("file: s", "this path is also the socket of source \"a\""),
        ("file: c", "this path is also the control socket"),
        ("file: c/x", "this path is below the control socket, which is not a directory"),
        ("file: p.yaml", "this path is also a file of the configuration"),
    ])
    func `a destination's file cannot be used for anything else`(destination: String, message: String) throws {
        #expect(try findings(with(destination)).contains("6:14: " + message))
    }

    @Test(arguments: [
        "file: jj/manifest", "file: \"j-{{ userId }}\"", "file: \"out/{{ userId }}/%Y.ndjson\"", "file: ../j/x",
    ])
    func `a file apart from all other paths has no findings`(destination: String) throws {
        #expect(try findings(with(destination)) == [])
    }

    @Test func `symbolic links are followed`() throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.path + "/j", withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: directory.path + "/link", withDestinationPath: "j")
        #expect(try findings(with("file: link/x.ndjson"), in: directory) == ["6:14: this path is \(Self.inJournal)"])
        #expect(
            try findings(with("file: j/x.ndjson", journal: "{ directory: link }"), in: directory) == [
                "6:14: this path is \(Self.inJournal)"
            ])
    }

    @Test func `sockets conflict with each other and with the journal`() throws {
        let text = """
            journal: { directory: j }
            sources:
              a: { socket: s }
              b: { socket: ./x/../s }
              c: { socket: j/s }
              d: { socket: x/../c }
            control: { socket: c }
            routes: [ { to: [d] } ]
            destinations: { d: { file: out } }
            """
        #expect(
            try findings(text) == [
                "4:16: this path is also the socket of source \"a\"", "5:16: this path is \(Self.inJournal)",
                "6:16: this path is also the control socket",
            ])
    }

    @Test func `destinations that can write the same file are reported at their paths, beside other errors`() throws {
        let text = """
            sources: { a: { socket: s } }
            routes: [ { to: [d, e, f], where: typ == 1 } ]
            journal: { directory: j, retain: { size: 1 } }
            destinations:
              d: { file: "out/%Y" }
              e: { file: "out/{{ userId }}" }
              f: { file: "out/{{ userId }}/x", where: and }
            """
        #expect(
            try findings(text) == [
                "2:39: == is not an operator", "3:42: \"size\" must be from 16MiB to 1PiB",
                "6:14: this path can be the file of destination \"d\"",
                "7:14: this path can be below the file of destination \"d\", which is not a directory",
                "7:14: this path can be below the file of destination \"e\", which is not a directory",
                "7:43: unexpected \"and\"; expected a field, a value or (",
            ])
    }

    @Test func `an obstacle on the disk is reported where the configuration names it`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("j", "")
        try directory.write("s", "")
        try FileManager.default.createDirectory(atPath: directory.path + "/out", withIntermediateDirectories: false)
        #expect(
            try findings(with("file: out"), in: directory) == [
                "1:23: DIR/j is no directory", "2:25: DIR/s exists and is not a socket", "6:14: DIR/out is a directory",
            ])
        #expect(
            try findings(with("file: s/x", journal: "{ directory: j2 }"), in: directory).contains(
                "6:14: DIR/s is no directory"))
    }

    @Test func `all errors of HTTP options are reported at once, each at its option`() throws {
        let text = with(
            "http: http://h/, tls: { key: k, server_name: h.example }, proxy: \"http://\", headers: { X: y }")
        #expect(
            try findings(text) == [
                "6:37: a key without a certificate", "6:37: there is no file DIR/k",
                "6:53: only https: uses a certificate", "6:73: \"http://\" has no valid host and port",
            ])
    }

    @Test func `a file name is limited to what the filesystem takes`() throws {
        let name = String(repeating: "n", count: 229)
        #expect(try findings(with("file: \(name)/\(name)")) == [])
        #expect(
            try findings(with("file: \(name), rotate: { size: 1MiB }"))
                == ["6:14: a name has 229 bytes, but at most 228 are possible (a rotation adds some)"])
        #expect(
            try findings(with("file: \(name)\(name)/%Y")) == [
                "6:14: a name has 458 bytes, but at most 255 are possible"
            ])
        #expect(try findings(with("file: x/..")) == ["6:14: \"x/..\" is a directory"])
    }

    @Test func `a missing TLS file is an error`() throws {
        let directory = try TemporaryDirectory()
        let key = try directory.write("key.pem", "")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: key)
        let found = try findings(
            with("http: \"https://h/\", tls: { ca_file: none.pem, certificate: ., key: key.pem }"), in: directory)
        #expect(found == ["6:44: there is no file DIR/none.pem", "6:67: DIR is a directory"])
    }

    @Test func `a destination that only the disk stops does not stop the others when the daemon starts`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("p.yaml", with("http: \"https://h/\", tls: { ca_file: none.pem }"))
        func errors(_ occasion: ConfigurationCheck.Occasion) -> [Diagnostic] {
            ConfigurationCheck.loader(pluginDirectories: [], for: occasion).load(file: file).errors
        }
        let running = try #require(
            ConfigurationCheck.loader(pluginDirectories: [], for: .start).load(file: file).configuration)
        #expect(errors(.rehearsal).map(\.isOfMachine) == [true])
        #expect(errors(.reload(from: running)).isEmpty, "the destination already runs")
        var other = running
        other.destinations = []
        #expect(errors(.reload(from: other)).map(\.isOfMachine) == [true])
    }

    @Test func `an unknown user is reported at its name`() throws {
        let text = with("file: out").replacingOccurrences(
            of: "a: { socket: s }", with: "a: { socket: s, allow: { users: [root, nobody-of-that-name] } }")
        #expect(try findings(text) == ["2:51: this machine has no user \"nobody-of-that-name\""])
    }

    @Test func `a missing plugin is reported at its name`() throws {
        let found = try findings(with("plugin: nowhere, settings: { a: 1 }, where: and"))
        #expect(found.count == 2)
        #expect(
            found.first?.hasPrefix("6:16: there is no plugin \"nowhere\": looked for nowhere.so and libnowhere.so")
                == true, "\(found)")
        #expect(found.last == "6:52: unexpected \"and\"; expected a field, a value or (")
    }
}
