import Foundation
import PluginTesting
import TestSupport

/// Debian's mosquitto for one test, at a free port of 127.0.0.1. It ends with this object. One thread starts and ends
/// it.
final class MosquittoBroker: @unchecked Sendable {
    let directory: PluginTestDirectory
    private(set) var port: UInt16 = 0
    private let configuration: String
    private var process = Process()

    var address: String { "127.0.0.1:\(port)" }

    /// - Parameter configuration: lines of mosquitto.conf for the listener; DIRECTORY is the broker's directory.
    init(_ configuration: String = "allow_anonymous true", in directory: PluginTestDirectory? = nil) throws {
        self.directory = try directory ?? PluginTestDirectory()
        self.configuration = configuration
        // Another process may take the port before the broker does.
        for attempt in 1...5 {
            port = try freePort()
            do {
                try start()
                break
            } catch {
                kill()
                if attempt == 5 { throw error }
            }
        }
    }

    deinit { kill() }

    /// Starts the broker and waits until it listens.
    func start() throws {
        let file = try directory.add(
            "mosquitto.conf",
            Data(
                """
                user root
                listener \(port) 127.0.0.1
                \(configuration.replacing("DIRECTORY", with: directory.path))
                """.utf8))
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/sbin/mosquitto")
        process.arguments = ["-c", file]
        process.standardError = FileHandle.nullDevice
        try process.run()
        guard pluginEventually({ !self.process.isRunning || self.listens }), process.isRunning else {
            throw TestProblem(description: "mosquitto does not listen at port \(port)")
        }
    }

    func kill() {
        signal(SIGKILL)
        if process.processIdentifier > 0 { process.waitUntilExit() }
    }

    /// Stops each of its threads until SIGCONT.
    func suspend() throws { if process.isRunning { try SuspendedProcess.suspend(process.processIdentifier) } }

    func signal(_ number: Int32) { if process.isRunning { _ = Glibc.kill(process.processIdentifier, number) } }

    private var listens: Bool {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        return unsafe Self.withAddress(port) { address, size in unsafe connect(socket, address, size) } == 0
    }

    private static func withAddress(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        address.sin_port = port.bigEndian
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
