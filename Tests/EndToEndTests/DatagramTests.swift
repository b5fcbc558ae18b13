import Control
import Foundation
import Platform
import TestSupport
import Testing

@Suite struct DatagramTests {
    private static let sources = "{ apps: { socket: events.sock, datagram: events.dgram } }"
    private static let configuration = """
        routes: [ { name: all, to: [out] } ]
        destinations: { out: { file: out.ndjson } }
        """

    private func daemon() throws -> TestDaemon {
        try TestDaemon(configuration: Self.configuration, sources: Self.sources)
    }

    /// Sends one datagram for each text. Waits while the kernel's queue is full.
    private func send(_ texts: [String], to path: String) throws {
        let client = try DatagramSocket.connect(to: path)
        for text in texts {
            let bytes = Array(text.utf8)
            loop: while true {
                switch client.transmit(bytes.span) {
                case .bytes(0): usleep(100)
                case .bytes: break loop
                case .gone: throw Failure("nobody reads \(path)")
                }
            }
        }
    }

    @Test func `datagrams are delivered beside lines, and counted together`() throws {
        let daemon = try daemon()
        try daemon.start()
        try send((1...20).map { event($0) }, to: daemon.path("events.dgram"))
        let client = try EventClient(daemon)
        try client.send(events(21..<31))
        _ = try client.acknowledgement(of: 10)
        try send(["nonsense", event(31) + event(32)], to: daemon.path("events.dgram"))
        try daemon.settle(accepted: 30)
        try eventually("two are refused") { try daemon.status().sources["apps"]?.refused == 2 }
        #expect(Set(daemon.lines("out.ndjson").compactMap { number(in: $0) }) == Set(1...30))
        #expect(
            try daemon.status().sources["apps"]?.listens.map { ($0 as NSString).lastPathComponent } == [
                "events.sock", "events.dgram",
            ])
        #expect(daemon.terminate() == 0)
        #expect(!FileManager.default.fileExists(atPath: daemon.path("events.dgram")))
    }

    /// The programs of the book, on the daemon's socket.
    @Test func `the one-liners of the book send a datagram`() throws {
        let daemon = try daemon()
        try daemon.start()
        let book = try String(
            contentsOfFile: Repository.root + "/Sources/penstockd/Penstock.docc/SendingEvents.md", encoding: .utf8)
        let section = try #require(book.components(separatedBy: "\n## Datagrams\n").dropFirst().first)
        var ran = 0
        for block in section.components(separatedBy: "\n## ")[0].components(separatedBy: "\n```").dropFirst() {
            let lines = block.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            guard lines.count == 2, lines[0] == "bash" || lines[0] == "python" else { continue }
            let text = lines[1].replacing("/run/penstock/events.dgram", with: daemon.path("events.dgram"))
            let program = daemon.path("program")
            try text.write(toFile: program, atomically: true, encoding: .utf8)
            let result = try Program.run(lines[0] == "bash" ? "bash" : "python3", [program])
            #expect(result.status == 0, "\(result.errors)")
            ran += 1
            try daemon.settle(accepted: UInt64(ran))
        }
        #expect(ran == 2)
        #expect(try daemon.status().sources["apps"]?.refused == 0)
    }

    @Test func `a flood of datagrams with garbage and descriptors neither loses an event nor keeps others waiting`()
        throws
    {
        let daemon = try daemon()
        try daemon.start()
        let before = try daemon.descriptors.count
        // Senders end without a word. Each third message is garbage, each seventh has descriptors.
        let senders = try (0..<4).map { sender in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [
                "python3", "-c",
                """
                import os, socket, sys
                path, sender = sys.argv[1], int(sys.argv[2])
                client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                client.connect(path)
                files = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
                for number in range(25000):
                    id = sender * 100000 + number
                    event = b'{"type":"track","event":"E","userId":"u","messageId":"m-%07d"}' % id
                    if number % 7 == 0: socket.send_fds(client, [event], files[:number % 20 + 1])
                    else: client.send(event)
                    if number % 3 == 0: client.send(b'{"garbage' + os.urandom(number % 100))
                os.kill(os.getpid(), 9)
                """, daemon.path("events.dgram"), "\(sender)",
            ]
            try process.run()
            return process
        }
        let client = try EventClient(daemon)
        let clock = SystemClock()
        var worst = Duration.zero
        var lines = 0
        while senders.contains(where: \.isRunning) {
            let began = clock.now()
            try client.send(event(9_000_000 + lines) + "\n")
            lines += 1
            #expect(try client.acknowledgement(of: lines).lines == lines)
            worst = max(worst, clock.now() - began)
        }
        print("datagrams: the longest acknowledgement meanwhile took \(worst)")
        #expect(worst < .seconds(20))
        try daemon.settle(accepted: UInt64(100_000 + lines))
        let numbers = daemon.lines("out.ndjson").compactMap { number(in: $0) }
        #expect(numbers.count == 100_000 + lines)
        #expect(Set(numbers).count == numbers.count)
        // The files that were sent along are closed again. Some of the daemon's own come and go.
        try eventually("no descriptor is left") { try daemon.descriptors.count < before + 15 }
    }

    @Test func `while the daemon does not read, senders wait, and nothing is lost`() throws {
        let daemon = try daemon()
        try daemon.start()
        try daemon.suspend()
        let client = try DatagramSocket.connect(to: daemon.path("events.dgram"))
        var sent = 0
        while sent < 10_000, client.transmit(Array(event(sent).utf8).span) != .bytes(0) { sent += 1 }
        #expect(sent < 10_000, "the kernel's queue is bounded")
        daemon.signal(SIGCONT)
        try daemon.settle(accepted: UInt64(sent))
        #expect(daemon.lines("out.ndjson").compactMap { number(in: $0) } == Array(0..<sent))
    }

    @Test func `at a stop the daemon stores what is in its socket`() throws {
        let daemon = try daemon()
        try daemon.start()
        try daemon.suspend()
        let client = try DatagramSocket.connect(to: daemon.path("events.dgram"))
        var sent = 0
        while sent < 10, client.transmit(Array(event(sent).utf8).span) != .bytes(0) { sent += 1 }
        daemon.signal(SIGTERM)
        daemon.signal(SIGCONT)
        #expect(daemon.terminate() == 0)
        #expect(daemon.lines("out.ndjson").compactMap { number(in: $0) } == Array(0..<sent))
    }

    @Test func `a reload keeps, moves, removes and adds the socket without losing a datagram`() throws {
        let daemon = try daemon()
        try daemon.start()
        func reload(_ sources: String) throws {
            try daemon.write(configuration: Self.configuration, sources: sources)
            let report = try daemon.reload()
            #expect(report.applied, "\(report.errors)")
        }
        let held = try DatagramSocket.connect(to: daemon.path("events.dgram"))
        _ = held.transmit(Array(event(1).utf8).span)
        try reload("{ apps: { socket: events.sock, datagram: events.dgram, max_depth: 10, mode: '0600' } }")
        #expect(held.transmit(Array(event(2).utf8).span) == .bytes(event(2).utf8.count), "the socket is the same")
        try reload("{ apps: { socket: events.sock, datagram: other.dgram } }")
        #expect(held.transmit(Array(event(3).utf8).span) == .gone)
        #expect(!FileManager.default.fileExists(atPath: daemon.path("events.dgram")))
        try send([event(4)], to: daemon.path("other.dgram"))
        try reload("{ apps: { socket: events.sock } }")
        #expect(!FileManager.default.fileExists(atPath: daemon.path("other.dgram")))
        try reload(Self.sources)
        try send([event(5)], to: daemon.path("events.dgram"))
        try daemon.settle(accepted: 4)
        #expect(daemon.lines("out.ndjson").compactMap { number(in: $0) } == [1, 2, 4, 5])
        // A refused reload removes the socket that it made.
        try daemon.write(
            configuration: Self.configuration,
            sources: "{ apps: { socket: events.sock, datagram: third.dgram }, other: { socket: events.dgram } }")
        #expect(try !daemon.reload().applied)
        #expect(!FileManager.default.fileExists(atPath: daemon.path("third.dgram")))
        try send([event(6)], to: daemon.path("events.dgram"))
        try daemon.settle(accepted: 5)
    }
}
