import TestSupport

/// An HTTP service that takes everything, or what its script says.
final class HTTPReceiver {
    let server: ScriptedServer

    init(_ script: [ScriptedServer.Reply] = [.status(200)]) throws {
        server = try ScriptedServer(script)
    }

    deinit { server.stop() }

    var url: String { server.url }

    /// The events of all requests, one a line.
    var events: [String] {
        server.requests.flatMap { $0.text.split(separator: "\n").map(String.init) }
    }
}
