import Foundation
import Testing

@testable import Control
@testable import Daemon

/// Who may send requests to the page.
@Suite struct PageAccessTests {
    private static let token = String(repeating: "0123456789abcdef", count: 4)

    private func status(
        _ method: ControlRequest.Method, token: String? = token, _ fields: [String: String]
    ) -> Int? {
        let access = PageAccess(token: token.map { PageToken(text: $0) })
        return access.refusal(of: ControlRequest(method: method, path: "/api/status", fields: fields))?.status
    }

    @Test func `at an address, a request needs the token`() {
        #expect(status(.get, ["host": "127.0.0.1:1", "authorization": "Bearer \(Self.token)"]) == nil)
        for wrong in [
            nil, "", Self.token, "Basic \(Self.token)", "Bearer ", "Bearer \(Self.token.dropLast())",
            "Bearer \(Self.token)0", "Bearer \(Self.token.uppercased())", "Bearer \(Self.token.dropLast())0",
        ] {
            var fields = ["host": "127.0.0.1:1"]
            fields["authorization"] = wrong
            #expect(status(.get, fields) == 401, "\(wrong ?? "nothing")")
        }
    }

    @Test func `at a socket, no token is needed`() {
        #expect(status(.get, token: nil, ["host": "localhost:9378"]) == nil)
    }

    @Test(arguments: [
        "https://evil.example", "http://127.0.0.1:2", "http://localhost:1", "null", "http://127.0.0.1:1.evil.example",
        "http://127.0.0.1:1@evil.example", "", "http://127.0.0.1:1/",
    ])
    func `a request of another origin is refused, also with the token`(_ origin: String) {
        for method in [ControlRequest.Method.get, .post] {
            let fields = ["host": "127.0.0.1:1", "authorization": "Bearer \(Self.token)", "origin": origin]
            #expect(status(method, fields) == 403)
            #expect(status(method, token: nil, fields) == 403)
        }
    }

    @Test func `a POST needs its own origin`() {
        let fields = ["host": "127.0.0.1:1", "authorization": "Bearer \(Self.token)"]
        #expect(status(.post, fields) == 403)
        #expect(status(.post, fields.merging(["origin": "http://127.0.0.1:1"]) { $1 }) == nil)
        #expect(status(.post, token: nil, ["origin": "http://127.0.0.1:1"]) == 403, "there is no Host to compare")
    }
}

/// The file of the page's token.
@Suite struct PageTokenTests {
    private func inDirectory(_ body: (String) throws -> Void) throws {
        let directory = NSTemporaryDirectory() + "penstock-token-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(directory)
    }

    @Test func `a token is made once, and only its user can read it`() throws {
        try inDirectory { directory in
            let first = try PageToken(in: directory)
            #expect(first.text.count == 64 && first.text.allSatisfy(\.isHexDigit))
            #expect(try PageToken(in: directory) == first)
            let file = directory + "/page.token"
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            try FileManager.default.removeItem(atPath: file)
            #expect(try PageToken(in: directory) != first)
        }
    }

    @Test(arguments: ["", "short", String(repeating: "x", count: 64), String(repeating: "a", count: 65)])
    func `a file that holds no token is replaced`(_ text: String) throws {
        try inDirectory { directory in
            let file = directory + "/page.token"
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            #expect(try PageToken(in: directory).text != text)
        }
    }

    @Test func `a token that others could read, and a link, are replaced`() throws {
        try inDirectory { directory in
            let file = directory + "/page.token"
            let first = try PageToken(in: directory)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
            let second = try PageToken(in: directory)
            #expect(second != first)
            // Another user's link to a known token.
            try FileManager.default.moveItem(atPath: file, toPath: directory + "/known")
            try FileManager.default.createSymbolicLink(
                atPath: file, withDestinationPath: directory + "/known")
            #expect(try PageToken(in: directory) != second)
            #expect(try String(contentsOfFile: directory + "/known", encoding: .utf8) == second.text)
        }
    }
}
