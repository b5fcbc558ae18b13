import Foundation
import Platform
import Testing

/// Requests that arrive in pieces, many at once, or are cut off by a crash.
@Suite struct HTTPWireTests {
    /// Connects to the source's TCP address, or to its Unix socket.
    private func connect(_ daemon: TestDaemon, overTCP: Bool) throws -> HTTPConnection {
        overTCP ? try HTTPConnection(port: daemon.port()) : try HTTPConnection(unixSocket: daemon.events)
    }

    @Test func `a request that is cut at any byte is answered like the whole one`() throws {
        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource())
        try daemon.start()
        defer { daemon.kill9() }
        let connection = try connect(daemon, overTCP: false)
        let length = HTTPConnection.batch(0..<2).utf8.count
        for cut in 1..<length {
            let request = Array(HTTPConnection.batch(cut * 2..<cut * 2 + 2).utf8)
            try #require(request.count == length)
            try connection.send(Array(request[..<cut]))
            // The daemon has the first piece alone.
            try connection.waitUntilRead()
            try connection.send(Array(request[cut...]))
            let answer = try #require(try connection.answer())
            #expect(answer.status == 200 && answer.body == "{\"success\":true}\n", "cut at \(cut): \(answer)")
        }
        try daemon.settle(accepted: UInt64(length * 2 - 2))
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(2..<length * 2))
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: [true, false])
    func `a request that arrives byte by byte is answered`(overTCP: Bool) throws {
        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource())
        try daemon.start()
        defer { daemon.kill9() }
        let connection = try connect(daemon, overTCP: overTCP)
        let chunked = """
            POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(TestDaemon.writeKey)\r
            Transfer-Encoding: chunked\r\n\r\n
            """
        let body = #"{"batch":["# + event(2) + "]}"
        let chunks = body.map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
        for byte in (HTTPConnection.batch(0..<2) + chunked + chunks).utf8 {
            try connection.send([byte])
            if !overTCP { try connection.waitUntilRead() }
        }
        for _ in 0..<2 { #expect(try connection.answer()?.status == 200) }
        try daemon.settle(accepted: 3)
        #expect(daemon.lines("archive.ndjson").compactMap(number) == [0, 1, 2])
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: [true, false])
    func `a thousand requests in one write are answered in their order`(overTCP: Bool) throws {
        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource())
        try daemon.start()
        defer { daemon.kill9() }
        let connection = try connect(daemon, overTCP: overTCP)
        // Every tenth one is refused. The client reads nothing meanwhile.
        let requests = (0..<1000).map { number in
            number % 10 == 9
                ? HTTPConnection.post("/v1/track", #"{"event":"\#(number)"}"#)
                : HTTPConnection.batch(number..<number + 1)
        }.joined()
        let failure = Guarded<String?>(nil)
        let sending = WorkerThread(name: "client") {
            do { try connection.send(requests) } catch { failure.change { $0 = "\(error)" } }
        }
        for number in 0..<1000 {
            let answer = try #require(try connection.answer(), "after \(number) answers")
            #expect(answer.status == (number % 10 == 9 ? 400 : 200), "\(number): \(answer)")
        }
        sending.join()
        #expect(failure.value == nil)
        try daemon.settle(accepted: 900)
        #expect(daemon.lines("archive.ndjson").compactMap(number) == (0..<1000).filter { $0 % 10 != 9 })
        #expect(try daemon.refused("no_user_anon_id") == 100)
        #expect(daemon.terminate() == 0)
    }

    @Test func `every event of a request that was answered with 200 survives kill -9`() throws {
        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource())
        var answered: Set<Int> = []
        var sent: Set<Int> = []
        for life in 0..<5 {
            try daemon.start()
            // Each client has its own numbers, and sends four requests before it reads an answer.
            let clients = try (0..<4).map { client in
                try Streamer(
                    connect(daemon, overTCP: client % 2 == 0), from: (life * 4 + client) * 100_000, together: 4)
            }
            try eventually("every client has answers") { clients.allSatisfy { $0.answered.value.count >= 300 } }
            daemon.kill9()
            for client in clients {
                client.join()
                answered.formUnion(client.answered.value)
                sent.formUnion(client.sent.value)
            }
        }
        try daemon.start()
        try daemon.settle()
        let stored = try daemon.stored().compactMap { ($0["messageId"] as? String).flatMap { Int($0.dropFirst(2)) } }
        #expect(Set(stored).count == stored.count, "no event is stored twice")
        #expect(answered.subtracting(stored).isEmpty, "\(answered.subtracting(stored).count) events are lost")
        #expect(Set(stored).isSubset(of: sent))
        #expect(Set(daemon.lines("archive.ndjson").compactMap(number)) == Set(stored))
        #expect(daemon.terminate() == 0)
    }

    /// A client with its own thread that sends batches of 5 events until its connection fails.
    private final class Streamer: @unchecked Sendable {
        let answered = Guarded<Set<Int>>([])
        let sent = Guarded<Set<Int>>([])
        private let connection: HTTPConnection
        private var thread: WorkerThread?

        /// - Parameter together: the requests that are sent before their answers are read.
        init(_ connection: HTTPConnection, from first: Int, together: Int) throws {
            self.connection = connection
            thread = WorkerThread(name: "client") { [self] in
                var next = first
                while true {
                    let lots = (0..<together).map { next + $0 * 5..<next + $0 * 5 + 5 }
                    next += together * 5
                    sent.change { $0.formUnion(lots.joined()) }
                    guard (try? connection.send(lots.map({ HTTPConnection.batch($0) }).joined())) != nil else { return }
                    for lot in lots {
                        guard let answer = try? connection.answer(), answer.status == 200 else { return }
                        answered.change { $0.formUnion(lot) }
                    }
                }
            }
        }

        func join() { thread?.join() }
    }
}
