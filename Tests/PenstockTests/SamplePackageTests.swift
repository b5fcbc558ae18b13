import Foundation
import Penstock
import Synchronization
import TestSupport
import Testing

@testable import PenstockTesting

/// An application that depends on the product `Penstock`.
@Suite struct SamplePackageTests {
    /// The runtime libraries of Swift, C and C++.
    private static let runtime = [
        "libswift", "libFoundation", "lib_Foundation", "libBlocksRuntime", "libdispatch", "libc.", "libm.", "libstdc++",
        "libgcc_s", "ld-linux",
    ]

    @Test func `an application links only the SDK, and its events reach a file through the daemon`() async throws {
        let package = try SamplePackage()
        let build = try await package.build()
        try #require(build.status == 0, "\(build.output)\(build.errors)")
        #expect(!"\(build.output)\(build.errors)".contains("warning:"), "\(build.output)\(build.errors)")
        #expect(try package.fetchedPackages() == [])
        #expect(try package.modules() == ["Penstock", "shop"])
        #expect(try package.compiledTargets() == ["Penstock", "shop"])

        let dynamic = try await ProgramResult.run("readelf", ["--dynamic", "--wide", package.binary]).output
        let needed = dynamic.split(separator: "\n").filter { $0.contains("(NEEDED)") }.compactMap {
            $0.split(separator: "[").last?.dropLast()
        }
        #expect(needed.count > 1, "\(dynamic)")
        #expect(needed.filter { name in !Self.runtime.contains { name.hasPrefix($0) } } == [])
        let libraries = try await ProgramResult.run("ldd", [package.binary]).output
        #expect(libraries.contains("libc.so") && !libraries.contains("not found"), "\(libraries)")

        // From here on, the test follows the tutorial.
        let directory = try TemporaryDirectory()
        let configuration = try String(contentsOfFile: SamplePackage.source + "/penstock.yaml", encoding: .utf8)
        let daemon = try RunningDaemon(configuration: try directory.write("penstock.yaml", configuration))
        let socket = directory.path + "/events.sock"
        try LocalDaemonWait.until { LocalSocket.accepts(socket) || !daemon.isRunning }
        let run = try await ProgramResult.run(
            package.binary, [], environment: ["PENSTOCK_SOCKET": socket, "PENSTOCK_SPOOL": directory.path + "/spool"])
        #expect(run.status == 0)
        #expect(run.output == "complete\n", "\(run.errors)")
        var events: [RecordedEvent] = []
        try LocalDaemonWait.until {
            let text = (try? String(contentsOfFile: directory.path + "/events.ndjson", encoding: .utf8)) ?? ""
            events = text.split(separator: "\n").compactMap { RecordedEvent(line: Array($0.utf8)) }
            return events.count >= 2 || !daemon.isRunning
        }
        #expect(events.map(\.name) == ["Cart Viewed", "Order Completed"])
        #expect(events.last?.properties == ["orderID": "A1", "total": 12.5])
        #expect(events.last?.userID == "ada")
    }
}

/// A penstockd with a given configuration.
private final class RunningDaemon {
    private let process = Process()
    var isRunning: Bool { process.isRunning }

    init(configuration: String) throws {
        process.executableURL = URL(filePath: Binaries.directory + "/penstockd")
        process.arguments = ["--config", configuration]
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
    }
}
