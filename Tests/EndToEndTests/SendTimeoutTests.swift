import Foundation
import Platform
import Testing

/// `penstock send` and `track` with sockets whose other side is slow or does nothing.
@Suite struct SendTimeoutTests {
    private static let toFile = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    /// A listening socket without a server.
    private final class Silence: Sendable {
        let path = "/tmp/penstock-test-\(UUID().uuidString.prefix(8)).sock"
        let listener: FileDescriptor

        init(backlog: Int32 = 16) throws {
            listener = try UnixListener.listen(at: path, mode: 0o600, backlog: backlog)
        }

        deinit { _ = unsafe unlink(path) }
    }

    @Test func `a command gives up on a daemon that never answers`() throws {
        let silence = try Silence()
        for command in [["track", "E", "--user", "u"], ["send", "--acks"], ["identify", "--user", "u"]] {
            let result = try Program.penstock(
                command + ["--socket", silence.path, "--timeout", "300ms"], input: event(1))
            #expect(result.status == 1)
            #expect(
                result.errors.contains("the daemon at \(silence.path) acknowledged nothing for 300ms"),
                "\(result.errors)")
            #expect(result.errors.contains("0 lines are settled"), "\(result.errors)")
            #expect(result.output == "")
        }
    }

    @Test func `a command gives up on a daemon that reads no events`() throws {
        let silence = try Silence()
        // More than a socket's buffers hold.
        let result = try Program.penstock(
            ["send", "--socket", silence.path, "--timeout", "300ms"], input: events(0..<20_000))
        #expect(result.status == 1)
        #expect(result.errors.contains("accepted no events for 300ms"), "\(result.errors)")
    }

    @Test func `a command gives up on a daemon that accepts no connection`() throws {
        let silence = try Silence(backlog: 0)
        let first = try UnixStream(connectingTo: silence.path)
        let result = try Program.penstock(["track", "E", "--user", "u", "--socket", silence.path, "--timeout", "300ms"])
        #expect(result.status == 1)
        let text = "the daemon at \(silence.path) accepted no connection for 300ms"
        #expect(result.errors.contains(text), "\(result.errors)")
        withExtendedLifetime(first) {}
    }

    @Test func `a command waits for a slow daemon that makes progress`() throws {
        let silence = try Silence()
        let count = 20_000
        let taken = Taken()
        let server = Thread {
            let connection = accept(silence.listener.raw, nil, nil)
            var buffer = [UInt8](repeating: 0, count: 20_000)
            while true {
                let got = unsafe read(connection, &buffer, buffer.count)
                if got <= 0 { break }
                taken.add(buffer[..<got].count { $0 == UInt8(ascii: "\n") })
                // At this pace, reading all of it takes longer than the timeout.
                usleep(240_000)
            }
            close(connection)
        }
        server.start()
        let begin = Date()
        let result = try Program.penstock(
            ["send", "--socket", silence.path, "--timeout", "10s"], input: events(0..<count))
        #expect(result.status == 0, "\(result.errors)")
        #expect(Date().timeIntervalSince(begin) > 10, "the test needs more time than the timeout")
        try eventually("the server has read everything") { taken.lines == count }
    }

    @Test(arguments: ["soon", "10", "-1s", "0s", ""]) func `an invalid timeout is rejected`(_ timeout: String) throws {
        let result = try Program.penstock(["track", "E", "--user", "u", "--timeout=\(timeout)"])
        #expect(result.status == 64)
        #expect(result.errors.contains("--timeout"), "\(result.errors)")
    }

    @Test func `the socket comes from the environment unless an option names it`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let penstock = TestDaemon.binaries + "/penstock"
        let sent = try Program.run("PENSTOCK_SOCKET=\(daemon.events)", [penstock, "track", "E", "--user", "u"])
        #expect(sent.status == 0, "\(sent.errors)")
        let named = try Program.run(
            "PENSTOCK_SOCKET=/nowhere", [penstock, "send", "--acks", "--socket", daemon.events], input: event(1))
        #expect(named.status == 0, "\(named.errors)")
        let elsewhere = try Program.run("PENSTOCK_SOCKET=/nowhere", [penstock, "track", "E", "--user", "u"])
        #expect(elsewhere.status == 1)
        #expect(elsewhere.errors.contains("/nowhere"), "\(elsewhere.errors)")
        try daemon.settle(accepted: 2)
        #expect(daemon.terminate() == 0)
    }

    @Test func `consecutive refusals with the same reason are one line`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let nobody = #"{"type":"track","event":"E"}"# + "\n"
        let input =
            event(1) + "\n" + String(repeating: nobody, count: 900) + event(2) + "\n" + nobody + "nonsense\n" + nobody
            + nobody
        let result = try daemon.penstock("send", "--acks", input: input)
        #expect(result.status == 1)
        let starts = [
            "lines 2 to 901 (900 refusals): no_user_anon_id: ", "line 903: no_user_anon_id: ",
            "line 904: invalid_json: ",
            "lines 905 to 906 (2 refusals): no_user_anon_id: ", "904 of 906 lines were refused",
        ]
        let lines = result.errors.split(separator: "\n").map(String.init)
        #expect(lines.count == starts.count && zip(lines, starts).allSatisfy { $0.hasPrefix($1) }, "\(lines)")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a refusal is shown while the input is silent`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: TestDaemon.binaries + "/penstock")
        process.arguments = ["send", "--acks", "--socket", daemon.events]
        let input = Pipe()
        try "".write(toFile: daemon.path("errors"), atomically: false, encoding: .utf8)
        process.standardInput = input
        process.standardError = FileHandle(forWritingAtPath: daemon.path("errors"))
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data("nonsense\n".utf8))
        try eventually("the refusal is shown") {
            daemon.lines("errors").first?.hasPrefix("line 1: invalid_json: ") == true
        }
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 1)
        #expect(daemon.terminate() == 0)
    }
}

/// The number of lines that a server has read.
private final class Taken: @unchecked Sendable {
    private let lock = NSLock()
    private var count = 0
    var lines: Int { lock.withLock { count } }
    func add(_ lines: Int) { lock.withLock { count += lines } }
}
