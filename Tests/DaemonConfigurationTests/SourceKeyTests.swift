import Testing

@testable import DaemonConfiguration

/// `sources.NAME.datagram` and `dedupe`.
@Suite struct SourceKeyTests {
    @Test func `a datagram socket and deduplication are off unless given`() throws {
        let source = try #require(load(withSource("")).configuration?.sources.first)
        #expect(source.datagram == nil)
        #expect(source.dedupe == nil)
    }

    @Test func `datagram and dedupe are loaded`() throws {
        let result = load(withSource("datagram: d\ndedupe: { window: 2h, max_memory: 1MiB }"))
        let source = try #require(result.configuration?.sources.first, "\(result.diagnostics)")
        #expect(source.datagram == "/etc/penstock/d")
        #expect(source.dedupe?.window == .seconds(7200))
        #expect(source.dedupe?.maximumMemory == 1 << 20)
        let usual = try #require(load(withSource("dedupe: {}")).configuration?.sources.first?.dedupe)
        #expect(usual.window == .seconds(86_400))
        #expect(usual.maximumMemory == 64 << 20)
    }

    @Test(arguments: [
        ("datagram: /run/s", "has the same socket"),
        ("datagram: /run/\(String(repeating: "x", count: 200))", "107 bytes"),
        ("dedupe: { window: 31d }", "\"window\""), ("dedupe: { window: 0 }", "\"window\""),
        ("dedupe: { max_memory: 1 }", "\"max_memory\""), ("dedupe: 24h", "\"dedupe\""),
        ("dedupe: { windows: 1h }", "\"windows\""),
    ])
    func `an error says what is wrong`(lines: String, expected: String) {
        let result = load(withSource(lines))
        #expect(result.configuration == nil)
        #expect(result.errors.count == 1)
        #expect(result.errors.first?.description.contains(expected) == true, "\(result.errors)")
    }

    @Test func `a source plugin has neither`() {
        for line in ["datagram: /run/d", "dedupe: {}"] {
            let text = withSource(line).replacing("socket: /run/s", with: "plugin: kafka")
            #expect(load(text).errors.contains { $0.description.contains("belongs to a source with \"socket\"") })
        }
    }
}
