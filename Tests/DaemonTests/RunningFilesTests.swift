import DaemonConfiguration
import Control
import Foundation
import Testing

@testable import Daemon

/// The texts of the running configuration, beyond what a test with a whole daemon reaches.
@Suite struct RunningFilesTests {
    @Test func `a text beyond the limit is not kept, and the report says so`() throws {
        let directory = NSTemporaryDirectory() + "penstock-files-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: directory + "/conf.d", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let main = directory + "/penstock.yaml"
        try "routes: []\n".write(toFile: main, atomically: true, encoding: .utf8)
        // Each file has almost the size that a file may have.
        let large = "# " + String(repeating: "x", count: (1 << 20) - 3)
        var texts = [ConfigurationText(kind: .configuration, path: main, text: "routes: []\n")]
        for number in 1...9 {
            let path = directory + "/conf.d/\(number).yaml"
            try large.write(toFile: path, atomically: true, encoding: .utf8)
            texts.append(.init(kind: .configuration, path: path, text: large))
        }
        let configuration = try #require(
            ConfigurationLoader().load(
                text: """
                    sources: { apps: { socket: /run/s } }
                    routes: [ { to: [out] } ]
                    destinations: { out: { file: /d/out } }
                    """, named: "penstock.yaml"
            ).configuration)
        let files = RunningFiles(file: main)
        files.applied(texts, configuration, at: 0)
        #expect(files.texts == nil, "what is not whole is not used")
        let report = files.report()
        #expect(report.files.count == 10 && !report.differs)
        #expect(report.files.prefix(8).allSatisfy { $0.state == .same && $0.running != nil })
        #expect(report.files.suffix(2).allSatisfy { $0.state == .unknown && $0.running == nil && $0.problem != nil })
        #expect(report.files.reduce(0) { $0 + ($1.running?.utf8.count ?? 0) } <= RunningFiles.limit)
        let version = files.graph
        #expect(version.routes.map(\.to) == [["out"]] && version.destinations["out"]?.target == "/d/out")

        files.applied([texts[0]], configuration, at: 1)
        #expect(files.texts?.texts == [texts[0]])
        #expect(files.report().files.filter { $0.state == .added }.count == 9)
    }
}
