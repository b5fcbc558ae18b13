import Control
import Foundation
import Glibc
import Platform
import Testing

@Suite struct ControlClientTests {
    func failure(_ body: () throws -> ControlAnswer) -> ControlClientError? {
        #expect(throws: ControlClientError.self) { try body() }
    }

    @Test func `without a socket it says that the daemon is not running, and how to start it`() {
        let error = failure { try ControlClient(socket: "/nonexistent/control.sock").get("/status") }
        #expect(error?.code == .notRunning)
        #expect(error?.description == "penstockd is not running: nobody listens at /nonexistent/control.sock; start it with: systemctl start penstock")
    }

    @Test func `a socket that a dead daemon left is the same`() throws {
        let daemon = try Daemon { _, reply in reply.fail(404, "no") }
        let stale = daemon.directory + "/stale.sock"
        do {
            let dead = try UnixListener.listen(at: stale, mode: 0o600)
            #expect(dead.raw >= 0)
        }
        #expect(failure { try ControlClient(socket: stale).get("/status") }?.code == .notRunning)
    }

    @Test func `a path that no socket can have is named as the reason`() {
        let error = failure { try ControlClient(socket: "/" + String(repeating: "x", count: 200)).get("/status") }
        #expect(error?.code == .unreachable)
        #expect(error?.description.contains("107 bytes") == true)
    }

    @Test func `a daemon that hangs is not waited for without end`() throws {
        let held = Collected<ControlReply>()
        let daemon = try Daemon { _, reply in held.append(reply) }
        let error = failure { try daemon.client.get("/status", timeout: .milliseconds(500)) }
        #expect(error?.code == .timedOut)
        #expect(eventually { held.values.count == 1 })
    }

    @Test func `a connection that ends in the middle of an answer is an error`() throws {
        let daemon = try Daemon { _, reply in reply.fail(404, "no") }
        let path = daemon.directory + "/half.sock"
        let listener = HalfServer(try UnixListener.listen(at: path, mode: 0o600))
        let thread = WorkerThread(name: "half") { listener.answerOnce("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf") }
        #expect(failure { try ControlClient(socket: path).get("/status") }?.code == .broken)
        thread.join()
    }

    @Test func `nobody but the owner may ask`() throws {
        // Root may open every socket; then there is nothing to see.
        let daemon = try Daemon(mode: 0o000) { _, reply in reply.respond(contentType: "text/plain", body: []) }
        if getuid() == 0 {
            #expect(try daemon.client.get("/").status == 200)
        } else {
            #expect(failure { try daemon.client.get("/") }?.code == .permissionDenied)
        }
    }
}

/// Takes one connection, says something, and hangs up.
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
