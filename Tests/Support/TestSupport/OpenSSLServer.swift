import Foundation

/// A TLS server that runs Debian's `openssl` command and sends a fixed response to every client.
package final class OpenSSLServer {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    package let port: UInt16

    package struct Failed: Error, CustomStringConvertible {
        package var description: String
    }

    /// Writes a self-signed certificate, `cert.pem`, and its key, `key.pem`.
    /// - Parameter names: the certificate's subject alternative names.
    package static func makeCertificate(in directory: String, for names: String = "IP:127.0.0.1") throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=receiver", "-addext", "subjectAltName=\(names)", "-keyout", directory + "/key.pem",
            "-out", directory + "/cert.pem",
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(description: "openssl req failed") }
    }

    package init(certificateIn directory: String, response: String = "", _ arguments: [String] = []) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments =
            ["s_server", "-accept", "127.0.0.1:0", "-cert", directory + "/cert.pem", "-key", directory + "/key.pem"]
            + arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // openssl prints its port: "ACCEPT 127.0.0.1:43511".
        var said = ""
        while true {
            let more = output.fileHandleForReading.availableData
            said += String(decoding: more, as: UTF8.self)
            if let line = said.split(separator: "\n", omittingEmptySubsequences: true).first(where: {
                $0.hasPrefix("ACCEPT ")
            }),
                said.hasSuffix("\n"), let port = line.split(separator: ":").last.flatMap({ UInt16($0) })
            {
                self.port = port
                break
            }
            if more.isEmpty { throw Failed(description: "openssl s_server did not start: \(said)") }
        }
        try input.fileHandleForWriting.write(contentsOf: Data(response.utf8))
    }

    package func stop() {
        // Not SIGTERM: the child has inherited the signal mask of the thread that runs this test, and libdispatch's
        // threads block SIGTERM.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
