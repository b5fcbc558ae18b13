import Control
import Foundation
import Platform
import TestSupport
import Testing

/// A reload that changes how a source takes HTTP.
@Suite struct HTTPReloadTests {
    private static let withoutHTTP = "{ apps: { socket: events.sock } }"

    private func reload(_ daemon: TestDaemon, _ source: String) throws {
        try daemon.write(configuration: TestDaemon.toArchive, sources: source)
        let report = try daemon.reload()
        try #require(report.applied, "\(report.errors)")
    }

    /// A connection on which a request was sent, except for the last bytes of its body. The daemon is serving it.
    private func halfRequest(_ daemon: TestDaemon, _ number: Int) throws -> (HTTPConnection, rest: String) {
        let connection = try HTTPConnection(port: daemon.port())
        try connection.send(HTTPConnection.batch(number..<number + 1))
        #expect(try connection.answer()?.status == 200)
        let request = HTTPConnection.batch(number + 1..<number + 2, fields: "Expect: 100-continue\r\n")
        try connection.send(String(request.dropLast(10)))
        // The daemon has read its head.
        #expect(try connection.answer()?.status == 100)
        return (connection, String(request.suffix(10)))
    }

    @Test func `http is added and removed, and a request in flight is answered`() throws {
        let port = try TCPPorts.free()
        let daemon = try TestDaemon(httpSource: Self.withoutHTTP)
        try daemon.start()
        defer { daemon.kill9() }
        #expect(throws: (any Error).self) { try HTTPConnection(port: port) }
        try reload(daemon, TestDaemon.httpSource("127.0.0.1:\(port)"))
        #expect(try daemon.url() == "http://127.0.0.1:\(port)")
        let text = try daemon.penstock("status").output
        #expect(text.contains("apps: listens at ") && text.contains("http://127.0.0.1:\(port)"), "\(text)")
        let (connection, rest) = try halfRequest(daemon, 1)
        let (idle, idleRest) = try halfRequest(daemon, 5)
        try idle.send(idleRest)
        #expect(try idle.answer()?.status == 200)

        try reload(daemon, Self.withoutHTTP)
        #expect(throws: (any Error).self) { try HTTPConnection(port: port) }
        #expect(try daemon.status().sources["apps"]?.listens.count == 1)
        try TCPPorts.listen(at: port)
        try connection.send(rest)
        let answer = try connection.answer()
        #expect(answer?.status == 200)
        #expect(answer?.fields["connection"] == "close")
        try idle.send(HTTPConnection.batch(7..<8))
        let sentAway = try idle.answer()
        #expect(sentAway?.status == 503)
        #expect(sentAway?.fields["connection"] == "close")
        #expect(try idle.answer() == nil)
        // The Unix socket has taken HTTP all the time.
        let local = try HTTPConnection(unixSocket: daemon.events)
        try local.send(HTTPConnection.batch(3..<4))
        #expect(try local.answer()?.status == 200)

        // The same port again.
        try reload(daemon, TestDaemon.httpSource("127.0.0.1:\(port)"))
        let last = try HTTPConnection(port: port)
        try last.send(HTTPConnection.batch(4..<5))
        #expect(try last.answer()?.status == 200)
        try daemon.settle(accepted: 6)
        #expect(daemon.lines("archive.ndjson").compactMap(number).sorted() == [1, 2, 3, 4, 5, 6])
        #expect(daemon.terminate() == 0)
        try TCPPorts.listen(at: port)
    }

    @Test func `a source moves to another port, and a request in flight at the old one is answered`() throws {
        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource())
        try daemon.start()
        defer { daemon.kill9() }
        let old = try daemon.port()
        let (connection, rest) = try halfRequest(daemon, 1)
        let new = try TCPPorts.free()
        try reload(daemon, TestDaemon.httpSource("127.0.0.1:\(new)"))
        #expect(try daemon.port() == new)
        #expect(throws: (any Error).self) { try HTTPConnection(port: old) }
        try TCPPorts.listen(at: old)
        let moved = try HTTPConnection(port: new)
        try moved.send(HTTPConnection.batch(3..<4))
        #expect(try moved.answer()?.status == 200)
        try connection.send(rest)
        #expect(try connection.answer()?.status == 200)
        try daemon.settle(accepted: 3)
        #expect(daemon.terminate() == 0)
    }

    @Test func `new write keys hold on open connections, too, and a request in flight is answered`() throws {
        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource("127.0.0.1:\(try TCPPorts.free())"))
        try daemon.start()
        defer { daemon.kill9() }
        let (connection, rest) = try halfRequest(daemon, 1)
        try daemon.write(secret: "write_key", "another-write-key")
        try reload(daemon, TestDaemon.httpSource("127.0.0.1:\(try daemon.port())"))
        try connection.send(rest)
        #expect(try connection.answer()?.status == 200)
        try connection.send(HTTPConnection.batch(5..<6))
        #expect(try connection.answer()?.status == 401)
        let url = try daemon.url() + "/v1/track"
        #expect(try daemon.curl("-u", TestDaemon.writeKey + ":", url, "-d", event(3)).output.hasSuffix("401\n"))
        #expect(try daemon.curl("-u", "another-write-key:", url, "-d", event(4)).output.hasSuffix("200\n"))
        try daemon.settle(accepted: 3)
        #expect(daemon.lines("archive.ndjson").compactMap(number) == [1, 2, 4])
        #expect(daemon.terminate() == 0)
    }

    @Test func `a reload to a port that is in use is refused and changes nothing`() throws {
        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource())
        try daemon.start()
        defer { daemon.kill9() }
        let url = try daemon.url()
        let receiver = try HTTPReceiver()
        let taken = receiver.server.port
        try daemon.write(configuration: TestDaemon.toArchive, sources: TestDaemon.httpSource("127.0.0.1:\(taken)"))
        let report = try daemon.reload()
        #expect(!report.applied)
        #expect(report.errors.contains { $0.contains("127.0.0.1:\(taken)") && $0.contains("ss -ltnp") }, "\(report)")
        #expect(try daemon.url() == url)
        let sent = try daemon.curl("-u", TestDaemon.writeKey + ":", url + "/v1/track", "-d", event(1))
        #expect(sent.output.hasSuffix("200\n"), "\(sent)")
        #expect(daemon.terminate() == 0)
    }
}
