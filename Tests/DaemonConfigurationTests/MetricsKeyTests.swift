import Testing

@testable import DaemonConfiguration

/// The keys of `control:` for metrics.
@Suite struct MetricsKeyTests {
    private func configuration(_ control: String) -> LoadResult {
        load(
            """
            sources: { apps: { socket: /run/s } }
            routes: [ { to: [out] } ]
            destinations: { out: { file: /d/out } }
            control: { \(control) }
            """)
    }

    @Test func `without the key, there are no metrics`() throws {
        let control = try #require(configuration("").configuration).control
        #expect(control.metrics == nil && !control.metricsInsecure)
    }

    @Test(arguments: ["127.0.0.1:9377", "127.9.9.9:1", "\"[::1]:65535\"", "127.0.0.1:0"])
    func `a loopback address is taken`(_ address: String) throws {
        let control = try #require(configuration("metrics: \(address)").configuration).control
        #expect(control.metrics.map { "\($0)" } == address.replacing("\"", with: ""))
    }

    @Test func `localhost is 127.0.0.1`() throws {
        let control = try #require(configuration("metrics: localhost:9377").configuration).control
        #expect(control.metrics.map { "\($0)" } == "127.0.0.1:9377")
    }

    @Test(arguments: ["0.0.0.0:9377", "192.0.2.7:9377", "\"[::]:9377\"", "\"[2001:db8::1]:9377\""])
    func `an address that other machines can reach needs a decision`(_ address: String) throws {
        let error = try #require(configuration("metrics: \(address)").errors.first)
        let plain = address.replacing("\"", with: "")
        #expect(
            error.message
                == "other machines can reach \(plain), and everybody on the network could read the metrics")
        #expect(error.hint?.contains("metrics_insecure: true") == true)
        #expect(error.place.line == 4 && error.place.column == 21)
        let control = try #require(configuration("metrics: \(address), metrics_insecure: true").configuration).control
        #expect(control.metrics.map { "\($0)" } == plain && control.metricsInsecure)
    }

    @Test(arguments: [
        "9377", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:-1", "metrics.example:9377", "\"::1:9377\"", "[]",
    ])
    func `what is no address is an error`(_ address: String) throws {
        let result = configuration("metrics: \(address)")
        #expect(result.errors.count == 1 && result.errors[0].message.contains("an address and a port"), "\(result)")
        #expect(result.errors.first?.hint?.contains("127.0.0.1:9377") == true, "\(result)")
    }

    @Test func `a wrong metrics_insecure hides no other error, and is the only one`() throws {
        let errors = configuration("metrics: 0.0.0.0:9377, metrics_insecure: 7").errors.map(\.message)
        #expect(errors.count == 1 && errors[0].contains("metrics_insecure"), "\(errors)")
    }

    @Test func `metrics and a source cannot have one port`() throws {
        let result = load(
            """
            sources: { web: { http: 127.0.0.1:9377, write_keys: [!secret k] } }
            routes: [ { to: [out] } ]
            destinations: { out: { file: /d/out } }
            control: { metrics: 127.0.0.1:9377 }
            """)
        let error = try #require(result.errors.first { $0.place.line == 4 })
        #expect(error.message == "source \"web\" listens at 127.0.0.1:9377 already")
        #expect(error.hint == "give the metrics their own port")
    }

    @Test func `only a change of the address changes the listener`() throws {
        func difference(_ old: String, _ new: String) throws -> ConfigurationDifference {
            ConfigurationDifference(
                from: try #require(configuration(old).configuration), to: try #require(configuration(new).configuration)
            )
        }
        #expect(try difference("metrics: 127.0.0.1:1", "metrics: 127.0.0.1:1, metrics_insecure: true").isEmpty)
        for (old, new) in [("metrics: 127.0.0.1:1", "metrics: 127.0.0.1:2"), ("metrics: 127.0.0.1:1", "")] {
            let found = try difference(old, new)
            #expect(found.metricsChanged && !found.controlChanged && !found.isEmpty)
            let back = try difference(new, old)
            #expect(back.metricsChanged && !back.controlChanged)
        }
        let moved = try difference("socket: /run/a.sock", "socket: /run/b.sock")
        #expect(moved.controlChanged && !moved.metricsChanged)
    }
}
