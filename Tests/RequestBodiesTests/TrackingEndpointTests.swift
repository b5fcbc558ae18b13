import Events
import RequestBodies
import Testing

@Suite struct TrackingEndpointTests {
    private func endpoint(_ path: String) -> TrackingEndpoint? {
        let bytes = Array(path.utf8)
        return TrackingEndpoint(path: bytes.span)
    }

    @Test(arguments: EventKind.allCases)
    func `each kind has a path, a short form and a form with a slash`(kind: EventKind) {
        #expect(endpoint("/v1/\(kind.name)") == .single(kind))
        #expect(endpoint("/v1/\(kind.name)/") == .single(kind))
        #expect(endpoint("/v1/\(kind.name.prefix(1))") == .single(kind))
        #expect(endpoint("/v1/\(kind.name.prefix(1))/") == .single(kind))
    }

    @Test(arguments: ["batch", "import", "b"]) func `a batch has three paths`(name: String) {
        #expect(endpoint("/v1/\(name)") == .batch)
        #expect(endpoint("/v1/\(name)/") == .batch)
    }

    @Test(arguments: [
        "", "/", "/v1", "/v1/", "/v1//", "/v1/x", "/v1/Track", "/v1/track//", "/v2/track", "v1/track", "/v1/track/x",
        "/v1/track?x=1", "/v1/tracks", "/V1/track", "//v1/track", "/v1/batch\0",
    ])
    func `no other path is an endpoint`(path: String) {
        #expect(endpoint(path) == nil)
    }

    @Test func `a path that is not UTF-8 is no endpoint`() {
        let path: [UInt8] = Array("/v1/".utf8) + [0xFF]
        #expect(TrackingEndpoint(path: path.span) == nil)
    }
}
