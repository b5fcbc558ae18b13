import Foundation
import Platform
import TestSupport

/// Debian's nginx as the TLS end of a service, with HTTP/2 on request, and a client certificate if the settings require
/// it. It accepts everything and logs how each request arrived.
final class NginxServer {
    let port: UInt16
    private let directory: String
    private let process = Process()
    /// Reserves the port, so that no other program gets it as a free one: bound, but never listening.
    private let reservation: Int32

    struct Failed: Error {}

    /// - Parameter settings: more lines for the server block, such as requirements for clients.
    init(in directory: String, _ settings: String = "") throws {
        self.directory = directory
        (reservation, port) = try Self.reservePort()
        let configuration = """
            daemon off; master_process off; pid \(directory)/nginx.pid; error_log \(directory)/error.log;
            events { }
            http {
              log_format requests '$request_method|$request_uri|$server_protocol|$connection|$http_host|$ssl_client_s_dn|$ssl_server_name';
              access_log \(directory)/requests.log requests;
              client_body_temp_path \(directory)/body; proxy_temp_path \(directory)/proxy;
              fastcgi_temp_path \(directory)/fastcgi; uwsgi_temp_path \(directory)/uwsgi; scgi_temp_path \(directory)/scgi;
              client_max_body_size 64m;
              server {
                listen 127.0.0.1:\(port) ssl http2 reuseport;
                ssl_certificate \(directory)/cert.pem; ssl_certificate_key \(directory)/key.pem;
                \(settings)
                location / { proxy_pass http://unix:\(directory)/service.sock; }
              }
              server {
                listen unix:\(directory)/service.sock;
                access_log off;
                location / { return 200; }
              }
            }
            """
        try configuration.write(toFile: directory + "/nginx.conf", atomically: false, encoding: .utf8)
        process.executableURL = URL(fileURLWithPath: "/usr/sbin/nginx")
        process.arguments = ["-e", directory + "/error.log", "-c", directory + "/nginx.conf"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        // nginx writes the pid file once it listens.
        guard eventually({ FileManager.default.fileExists(atPath: directory + "/nginx.pid") || !process.isRunning }),
            process.isRunning
        else { throw Failed() }
    }

    private static func reservePort() throws -> (Int32, UInt16) {
        let reservation = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failed =
            unsafe setsockopt(reservation, SOL_SOCKET, SO_REUSEPORT, &yes, socklen_t(MemoryLayout<Int32>.size)) != 0
            || withUnsafeMutablePointer(to: &address) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(reservation, $0, size) != 0 || getsockname(reservation, $0, &size) != 0
                }
            }
        if failed { throw SystemError("bind", "127.0.0.1") }
        return (reservation, UInt16(bigEndian: address.sin_port))
    }

    struct Request {
        var method, path, version, connection, host, client, serverName: String
    }

    /// The logged requests, in the order of their responses.
    var requests: [Request] {
        let text = (try? String(contentsOfFile: directory + "/requests.log", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 7 else { return nil }
            return Request(
                method: parts[0], path: parts[1], version: parts[2], connection: parts[3], host: parts[4],
                client: parts[5], serverName: parts[6])
        }
    }

    func stop() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        close(reservation)
        for name in ["body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            try? FileManager.default.removeItem(atPath: directory + "/" + name)
        }
    }
}
