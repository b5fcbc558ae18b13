import Testing

@testable import DaemonConfiguration

/// The key `control.page`.
@Suite struct PageKeyTests {
    private func configuration(_ control: String, sources: String = "{ apps: { socket: /run/s } }") -> LoadResult {
        load(
            """
            sources: \(sources)
            routes: [ { to: [out] } ]
            destinations: { out: { file: /d/out } }
            control: { \(control) }
            """)
    }

    @Test func `without the key, there is no page`() throws {
        #expect(try #require(configuration("").configuration).control.page == nil)
    }

    @Test(arguments: [
        ("127.0.0.1:9378", "127.0.0.1:9378"), ("localhost:1", "127.0.0.1:1"), ("\"[::1]:65535\"", "[::1]:65535"),
        ("127.0.0.1:0", "127.0.0.1:0"), ("/run/penstock/page.sock", "/run/penstock/page.sock"),
        ("./page.sock", "/etc/penstock/page.sock"),
    ])
    func `a loopback address and a path are taken`(_ text: String, _ meant: String) throws {
        let page = try #require(configuration("page: \(text)").configuration?.control.page)
        #expect(page.description == meant)
    }

    @Test(arguments: ["0.0.0.0:9378", "192.0.2.7:9378", "\"[::]:9378\""])
    func `an address that other machines can reach is an error, whose hint is a tunnel`(_ address: String) throws {
        let error = try #require(configuration("page: \(address)").errors.first)
        #expect(error.message.hasPrefix("other machines can reach \(address.replacing("\"", with: ""))"))
        #expect(error.hint?.contains("ssh -L 9378:127.0.0.1:9378") == true)
        #expect(error.place.line == 4 && error.place.column == 18)
    }

    @Test(arguments: ["9378", "page.sock", "127.0.0.1:65536", "[]", "penstock.example:9378"])
    func `what is neither an address nor a path is one error`(_ text: String) {
        let errors = configuration("page: \(text)").errors
        #expect(errors.count == 1 && errors[0].message.contains("the path of a socket"), "\(errors)")
        #expect(errors.first?.hint?.contains("127.0.0.1:9378") == true, "\(errors)")
    }

    @Test(arguments: [
        ("page: /run/s", "{ apps: { socket: /run/s } }", "the page has the same socket"),
        ("page: /run/penstock/control.sock", "{ apps: { socket: /run/s } }", "the control socket has the same socket"),
        (
            "metrics: 127.0.0.1:1, page: 127.0.0.1:1", "{ apps: { socket: /run/s } }",
            "the listener of the metrics listens at 127.0.0.1:1 already"
        ),
        (
            "page: 127.0.0.1:1", "{ web: { http: 127.0.0.1:1, write_keys: [!secret k] } }",
            "source \"web\" listens at 127.0.0.1:1 already"
        ),
    ])
    func `the page shares no place with another listener`(_ control: String, _ sources: String, _ message: String) {
        let errors = configuration(control, sources: sources).errors.map(\.message)
        #expect(errors.contains(message), "\(errors)")
    }

    @Test func `a socket's path has at most 107 bytes`() {
        let errors = configuration("page: /\(String(repeating: "a", count: 107))").errors.map(\.message)
        #expect(errors == ["the path of a socket has at most 107 bytes, this one has 108"])
    }

    @Test func `only a change of the page's place changes its listener`() throws {
        func difference(_ old: String, _ new: String) throws -> ConfigurationDifference {
            ConfigurationDifference(
                from: try #require(configuration(old).configuration), to: try #require(configuration(new).configuration)
            )
        }
        #expect(try difference("page: 127.0.0.1:1", "page: localhost:1").isEmpty)
        for (old, new) in [("page: 127.0.0.1:1", "page: 127.0.0.1:2"), ("page: /p", ""), ("page: /p", "page: /q")] {
            for found in [try difference(old, new), try difference(new, old)] {
                #expect(found.pageChanged && !found.controlChanged && !found.metricsChanged && !found.isEmpty)
            }
        }
    }
}
