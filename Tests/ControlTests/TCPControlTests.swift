import Control
import Foundation
import Glibc
import NIOCore
import NIOPosix
import Platform
import Testing

/// A control server at a TCP address.
@Suite struct TCPControlTests {
    /// A server that answers each path with itself. It stops with its last reference.
    private final class Server {
        let server: ControlServer
        private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

        init(_ address: String = "127.0.0.1:0", limits: ControlServer.Limits = .init()) throws {
            server = try ControlServer.open(
                address: try #require(SocketAddress(address)), handler: Echo(), group: group, limits: limits)
            server.serve()
        }

        deinit {
            server.stop()
            try? group.syncShutdownGracefully()
        }

        func connect() throws -> RawClient { try RawClient(port: try #require(server.localAddress).port) }

        /// The answer's head and body to one request.
        func answer(_ request: String) throws -> String {
            let client = try connect()
            client.send(request)
            return client.receiveAll()
        }
    }

    private struct Echo: ControlHandler {
        func handle(_ request: ControlRequest, reply: ControlReply) {
            let accept = request.fields["accept"] ?? "-"
            reply.respond(contentType: "text/plain", body: Array("<\(request.path) \(accept)>".utf8))
        }
    }

    private static func get(_ host: String?, _ more: String = "") -> String {
        "GET /a HTTP/1.1\r\n" + (host.map { "Host: \($0)\r\n" } ?? "") + more + "Connection: close\r\n\r\n"
    }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:9377", "localhost", "LOCALHOST:9377", "[::1]", "[::1]:80", "127.1.2.3:1", nil,
    ])
    func `a request to a local name is answered, and no page of another site may read it`(host: String?) throws {
        let answer = try Server().answer(Self.get(host, "Origin: https://evil.example\r\n"))
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\n</a ->"), "\(answer)")
        let fields = answer.lowercased()
        #expect(!fields.contains("access-control-"))
        for field in [
            "cache-control: no-store", "x-content-type-options: nosniff", "cross-origin-resource-policy: same-origin",
            "content-security-policy: default-src 'none'; frame-ancestors 'none'",
        ] {
            #expect(fields.contains("\r\n" + field + "\r\n"), "\(answer)")
        }
    }

    /// DNS rebinding: the name of an attacker's page resolves to 127.0.0.1.
    @Test(arguments: [
        "evil.example", "evil.example:9377", "127.0.0.1.evil.example", "localhost.evil.example", "192.0.2.7",
        "192.0.2.7:9377", "", "[::2]", "localhost:9377:1", "[localhost]x", "127.0.0.1 evil.example",
    ])
    func `a request to another name is refused`(host: String) throws {
        let answer = try Server().answer(Self.get(host))
        #expect(answer.hasPrefix("HTTP/1.1 403 ") && !answer.contains("</a"), "\(answer)")
    }

    @Test func `header fields reach the handler, joined if they are repeated`() throws {
        let answer = try Server().answer(Self.get("localhost", "Accept: text/plain\r\naccept: */*\r\n"))
        #expect(answer.hasSuffix("</a text/plain, */*>"), "\(answer)")
    }

    @Test func `HEAD has the fields of GET and no body`() throws {
        let answer = try Server().answer(
            Self.get("localhost").replacingOccurrences(of: "GET", with: "HEAD"))
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\n"), "\(answer)")
        #expect(answer.contains("content-length: 6\r\n"), "\(answer)")
    }

    @Test(arguments: [
        "GET /" + String(repeating: "a", count: 20_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
        get("localhost", "X: " + String(repeating: "a", count: 20_000) + "\r\n"),
        get("localhost", String(repeating: "X: aaaaaaaaaaaaaaaaaaaaaaaa\r\n", count: 65)),
        get("localhost", (0..<40).map { "X\($0): " + String(repeating: "a", count: 500) + "\r\n" }.joined()),
    ])
    func `a request's head is bounded`(request: String) throws {
        let server = try Server()
        let answer = try server.answer(request)
        #expect(!answer.contains("HTTP/1.1 200"), "\(answer.prefix(200))")
        #expect(try server.answer(Self.get("localhost")).hasPrefix("HTTP/1.1 200"))
    }

    @Test func `a head that comes byte by byte without end is cut off`() throws {
        var limits = ControlServer.Limits()
        limits.patience = .milliseconds(200)
        let server = try Server(limits: limits)
        let client = try server.connect()
        client.send("GET /a HTTP/1.1\r\nX: ")
        let begin = ContinuousClock.now
        while !client.hasHungUp, ContinuousClock.now - begin < .seconds(60) {
            client.send("a")
            usleep(2000)
        }
        #expect(client.hasHungUp)
    }

    @Test func `stop closes idle connections, and the port is free at once`() throws {
        let server = try Server()
        let idle = try server.connect()
        idle.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(idle.receive(until: "</a ->") != nil)
        let address = try #require(server.server.localAddress)
        server.server.stop()
        #expect(idle.isClosedByPeer())
        _ = try TCPListener.listen(at: address)
    }

    @Test func `an address in use is an error that names it`() throws {
        let server = try Server()
        let address = try #require(server.server.localAddress)
        let error = #expect(throws: TCPListenerError.self) { try Server("\(address)") }
        #expect(error?.description.contains("another process listens there") == true)
    }
}
