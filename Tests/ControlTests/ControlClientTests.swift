import Control
import Foundation
import Glibc
import Platform
import Testing

@Suite struct ControlClientTests {
    func failure(_ body: () throws -> ControlAnswer) -> ControlClientError? {
        #expect(throws: ControlClientError.self) { try body() }
    }

    @Test func `a missing socket is reported as a stopped daemon, with the command that starts it`() {
        let error = failure { try ControlClient(socket: "/nonexistent/control.sock").get("/status") }
        #expect(error?.code == .notRunning)
        #expect(
            error?.description
                == "penstockd is not running: no process listens at /nonexistent/control.sock; start it with: systemctl start penstock"
        )
    }

    @Test(arguments: [("/usr", "/usr"), ("", "\"\"")])
    func `what is not a socket is not reported as a stopped daemon`(path: String, shown: String) {
        let error = failure { try ControlClient(socket: path).get("/status") }
        #expect(error?.code == .unreachable)
        #expect(
            error?.description
                == "\(shown): cannot connect: it is not a socket; the daemon's is /run/penstock/control.sock")
    }

    @Test func `a link to the socket of a stopped daemon is no other file`() throws {
        let daemon = try Daemon { _, reply in reply.fail(404, "no") }
        let (stale, link) = (daemon.directory + "/stale.sock", daemon.directory + "/link.sock")
        do {
            let dead = try UnixListener.listen(at: stale, mode: 0o600)
            #expect(dead.raw >= 0)
        }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: stale)
        #expect(failure { try ControlClient(socket: link).get("/status") }?.code == .notRunning)
    }

    @Test func `a refusal without a reason asks whether it is the daemon's socket`() {
        #expect(
            ControlAnswer(status: 400, body: []).error
                == "the answer has status 400 and no reason: does penstockd listen at this socket?")
    }

    @Test func `a socket that a dead daemon left is reported as a stopped daemon`() throws {
        let daemon = try Daemon { _, reply in reply.fail(404, "no") }
        let stale = daemon.directory + "/stale.sock"
        do {
            let dead = try UnixListener.listen(at: stale, mode: 0o600)
            #expect(dead.raw >= 0)
        }
        #expect(failure { try ControlClient(socket: stale).get("/status") }?.code == .notRunning)
    }

    @Test func `a path that is too long for a socket is named as the reason`() {
        let error = failure { try ControlClient(socket: "/" + String(repeating: "x", count: 200)).get("/status") }
        #expect(error?.code == .unreachable)
        #expect(error?.description.contains("107 bytes") == true)
    }

    @Test func `a request to a daemon that hangs times out`() throws {
        let held = Collected<ControlReply>()
        let daemon = try Daemon { _, reply in held.append(reply) }
        let error = failure { try daemon.client.get("/status", timeout: .milliseconds(500)) }
        #expect(error?.code == .timedOut)
        #expect(eventually { held.values.count == 1 })
    }

    @Test func `a connection that ends within an answer is an error`() throws {
        let daemon = try Daemon { _, reply in reply.fail(404, "no") }
        let path = daemon.directory + "/half.sock"
        let listener = HalfServer(try UnixListener.listen(at: path, mode: 0o600))
        let thread = WorkerThread(name: "half") {
            listener.answerOnce("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
        }
        #expect(failure { try ControlClient(socket: path).get("/status") }?.code == .broken)
        thread.join()
    }

    @Test func `only the socket's owner may send requests`() throws {
        // Root may open every socket, so root sees no error.
        let daemon = try Daemon(mode: 0o000) { _, reply in reply.respond(contentType: "text/plain", body: []) }
        if getuid() == 0 {
            #expect(try daemon.client.get("/").status == 200)
        } else {
            #expect(failure { try daemon.client.get("/") }?.code == .permissionDenied)
        }
    }
}

/// Accepts one connection, sends a text and closes the connection.
final class HalfServer: Sendable {
    private let listener: FileDescriptor

    init(_ listener: consuming FileDescriptor) { self.listener = listener }

    func answerOnce(_ text: String) {
        let number = accept(listener.raw, nil, nil)
        guard number >= 0 else { return }
        let client = FileDescriptor(owning: number)
        var request = [UInt8](repeating: 0, count: 4096)
        _ = unsafe recv(client.raw, &request, request.count, 0)
        let bytes = Array(text.utf8)
        _ = unsafe send(client.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
