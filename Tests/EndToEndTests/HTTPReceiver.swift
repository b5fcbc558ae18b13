import TestSupport

/// An HTTP service that accepts everything, or follows its script.
final class HTTPReceiver {
    let server: ScriptedServer

    init(_ script: [ScriptedServer.Reply] = [.status(200)]) throws {
        server = try ScriptedServer(script)
    }

    deinit { server.stop() }

    var url: String { server.url }

    /// The events of all requests, one per line.
    var events: [String] { events() }

    /// The events of all requests from this one on.
    func events(from request: Int = 0) -> [String] {
        server.requests.dropFirst(request).flatMap { $0.text.split(separator: "\n").map(String.init) }
    }
}
