import Control
import Foundation
import Platform
import Testing

@Suite struct ControlServerTests {
    @Test func `a request arrives as it was sent, and the report is its answer`() throws {
        let requests = Collected<ControlRequest>()
        let daemon = try Daemon { request, reply in
            requests.append(request)
            reply.respond(ReloadReport(applied: true, warnings: ["a/b"]))
        }
        let query = ["where": "type = \"track\" & event != 'é+%'", "limit": ""]
        let answer = try daemon.client.post("/reload it", query: query, body: [1, 0, 255])
        #expect(answer.status == 200)
        #expect(
            String(decoding: answer.body, as: UTF8.self) == #"{"applied":true,"errors":[],"warnings":["a/b"]}"# + "\n")
        #expect(try answer.decode(ReloadReport.self).applied)
        let request = try #require(requests.values.first)
        #expect(request.method == .post)
        #expect(request.path == "/reload it")
        #expect(request.query == query)
        #expect(request.body == [1, 0, 255])
    }

    @Test func `only the owner can open the control socket, and the server removes it`() throws {
        let daemon = try Daemon { _, reply in reply.fail(404, "nothing here") }
        #expect(try FileManager.default.attributesOfItem(atPath: daemon.socket)[.posixPermissions] as? Int == 0o600)
        daemon.server.stop()
        #expect(!FileManager.default.fileExists(atPath: daemon.socket))
    }

    @Test func `an answer may come later from another thread, and only the first one counts`() throws {
        let waiting = Collected<ControlReply>()
        let daemon = try Daemon { _, reply in waiting.append(reply) }
        let main = WorkerThread(name: "main") {
            guard eventually({ waiting.values.count == 1 }) else { return }
            waiting.values[0].respond(status: 202, contentType: "text/plain", body: Array("first".utf8))
            waiting.values[0].fail(500, "second")
        }
        #expect(try daemon.client.post("/reload") == ControlAnswer(status: 202, body: Array("first".utf8)))
        main.join()
    }

    @Test func `an unanswered request is answered with status 500`() throws {
        let daemon = try Daemon { _, _ in }
        let answer = try daemon.client.get("/status")
        #expect(answer.status == 500)
        #expect(answer.error == "the daemon did not answer this request")
    }

    @Test(arguments: [(1000, 200), (1001, 413)])
    func `the size of a request's body is bounded`(size: Int, status: Int) throws {
        var limits = ControlServer.Limits()
        limits.body = 1000
        let daemon = try Daemon(limits: limits) { request, reply in
            reply.respond(contentType: "text/plain", body: Array(String(request.body.count).utf8))
        }
        let answer = try daemon.client.post("/x", body: [UInt8](repeating: 7, count: size))
        #expect(answer.status == status)
        #expect(status == 200 ? answer.body == Array("1000".utf8) : answer.error.contains("more than 1000 bytes"))
    }

    @Test(arguments: [
        ("PUT / HTTP/1.1\r\nhost: a\r\n\r\n", "HTTP/1.1 405"), ("GET /%zz HTTP/1.1\r\nhost: a\r\n\r\n", "HTTP/1.1 400"),
        ("GET /%ff HTTP/1.1\r\nhost: a\r\n\r\n", "HTTP/1.1 400"), ("nonsense\r\n\r\n", "HTTP/1.1 400"),
    ])
    func `a malformed request is rejected`(bytes: String, answer: String) throws {
        let daemon = try Daemon { _, reply in reply.respond(contentType: "text/plain", body: []) }
        let socket = try RawClient(daemon.socket)
        socket.send(bytes)
        #expect(socket.receive(until: "\r\n")?.hasPrefix(answer) == true)
    }

    @Test func `one connection may send several requests`() throws {
        let daemon = try Daemon { request, reply in
            reply.respond(contentType: "text/plain", body: Array("<\(request.path)>".utf8))
        }
        let socket = try RawClient(daemon.socket)
        for path in ["/a", "/b"] {
            socket.send("GET \(path) HTTP/1.1\r\nhost: a\r\n\r\n")
            #expect(socket.receive(until: "<\(path)>") != nil)
        }
    }

    @Test(arguments: ["", "GET / HTTP/1.1\r\nho"])
    func `a client that does not complete its request in time is disconnected`(bytes: String) throws {
        var limits = ControlServer.Limits()
        limits.patience = .milliseconds(50)
        let daemon = try Daemon(limits: limits) { _, reply in reply.fail(404, "no") }
        let socket = try RawClient(daemon.socket)
        socket.send(bytes)
        #expect(socket.isClosedByPeer())
    }

    @Test func `no further connection is served while every place is taken by a request`() throws {
        var limits = ControlServer.Limits()
        limits.connections = 2
        let waiting = Collected<ControlReply>()
        let daemon = try Daemon(limits: limits) { request, reply in
            if request.path == "/slow" {
                waiting.append(reply)
            } else {
                reply.respond(contentType: "text/plain", body: [65])
            }
        }
        let busy = [try RawClient(daemon.socket), try RawClient(daemon.socket)]
        for socket in busy { socket.send("GET /slow HTTP/1.1\r\nhost: a\r\n\r\n") }
        #expect(eventually { waiting.values.count == 2 })
        #expect(try RawClient(daemon.socket).isClosedByPeer())
        for reply in waiting.values { reply.respond(contentType: "text/plain", body: [66]) }
        for socket in busy { #expect(socket.receive(until: "B") != nil) }
        #expect(eventually { (try? daemon.client.get("/"))?.status == 200 })
    }

    @Test(arguments: ["", "GET / HTTP/1.1\r\nho", "GET / HTTP/1.1\r\nhost: a\r\n\r\n"])
    func `idle connections do not keep out a new one`(bytes: String) throws {
        let waiting = Collected<ControlReply>()
        let daemon = try Daemon { request, reply in
            if request.path == "/slow" {
                waiting.append(reply)
            } else {
                reply.respond(contentType: "text/plain", body: [65])
            }
        }
        let busy = try RawClient(daemon.socket)
        busy.send("GET /slow HTTP/1.1\r\nhost: a\r\n\r\n")
        #expect(eventually { waiting.values.count == 1 })
        let idle = try (1...64).map { _ in
            let socket = try RawClient(daemon.socket)
            socket.send(bytes)
            return socket
        }
        for _ in 0..<3 { #expect(try daemon.client.get("/").status == 200) }
        // The server closed the connection that was idle longest. A connection whose request is being answered is not
        // idle.
        #expect(idle[0].isClosedByPeer())
        waiting.values.first?.respond(contentType: "text/plain", body: [66])
        #expect(busy.receive(until: "B") != nil)
    }
}
