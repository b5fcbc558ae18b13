import Delivery
import Destinations
import Foundation
import PluginHosting
import PluginTesting
import Testing

/// A built plugin that appends each event as a line to the file of its setting `path`: the projects of `penstock plugins
/// new`, and the examples in other languages. They promise the same, so the same checks apply.
struct LineSink {
    /// The plugin's name: its library is libNAME.so.
    let name: String
    private let directory: PluginTestDirectory

    /// - Parameter library: the path of the built library.
    init(_ name: String, _ library: String) throws {
        self.name = name
        directory = try PluginTestDirectory()
        try directory.add("lib\(name).so", try Data(contentsOf: URL(fileURLWithPath: library)))
    }

    /// Makes all checks.
    func check() throws {
        try conforms()
        try linesAreCompleteAndInOrder()
        try fullDiskIsRetried()
        try missingDirectoryIsCreated()
        try settingsAreValidated()
    }

    private func stage(_ path: String) throws -> PluginStage {
        let stage = try PluginStage(name, in: directory, settings: #"{"path":"\#(path)"}"#)
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        return stage
    }

    private func conforms() throws {
        let run = PluginConformance(
            of: "\(directory.path)/lib\(name).so", settings: #"{"path":"\#(directory.path)/conformance.ndjson"}"#,
            deadline: .seconds(30), program: try TestCompiler.built("penstock-plugin-host"))
        var skipped: [String] = []
        let conforms = run.run { check, verdict in
            if case .failed(let reason) = verdict { Issue.record("\(name): \(check): \(reason)") }
            if case .skipped(let reason) = verdict { skipped.append(reason) }
        }
        #expect(conforms)
        #expect(skipped == ["the plugin keeps no position"])
    }

    /// Two runs append to one file, whose last line was cut off before.
    private func linesAreCompleteAndInOrder() throws {
        let path = try directory.add("lines.ndjson", Data(#"{"cut":"#.utf8))
        let positions = Array(UInt64(0)..<3000)
        for half in [positions[..<1500], positions[1500...]] {
            let stage = try stage(path)
            #expect(stage.destination.limits.maximumInFlight == 1)
            for start in stride(from: half.startIndex, to: half.endIndex, by: 500) {
                let batch = Array(half[start..<start + 500])
                let offer = stage.offer(batch)
                #expect(pluginEventually { !stage.answers(offer).isEmpty })
                #expect(stage.outcomes(offer, count: 500)?.allSatisfy { $0 == .delivered } == true, "\(name)")
                #expect(try stage.destination.checkpoint() == nil)
            }
            #expect(pluginEventually { stage.destination.metrics.counters["lines"] == 1500 })
            stage.destination.close()
        }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasSuffix("\n"))
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines == [#"{"cut":"#] + positions.map(PluginStage.event), "\(name)")
    }

    private func fullDiskIsRetried() throws {
        let stage = try stage("/dev/full")
        let offer = stage.offer([1, 2])
        #expect(pluginEventually { !stage.answers(offer).isEmpty })
        let outcomes = try #require(stage.outcomes(offer, count: 2))
        for outcome in outcomes {
            guard case .retry(let reason, _, _) = outcome else {
                Issue.record("\(name): \(outcome)")
                continue
            }
            #expect(reason.contains("/dev/full") && reason.contains("o space left on device"), "\(reason)")
        }
    }

    private func missingDirectoryIsCreated() throws {
        let path = "\(directory.path)/new \"quoted\"/deep/lines.ndjson"
        let stage = try stage(path.replacing("\"", with: "\\\""))
        let offer = stage.offer([7])
        #expect(pluginEventually { stage.outcomes(offer, count: 1) == [.delivered] })
        stage.destination.close()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == PluginStage.event(7) + "\n")
    }

    private func settingsAreValidated() throws {
        for (settings, problem) in [("{}", "path"), (#"{"path":1}"#, "settings.path"), (#"{"pth":"/x"}"#, "pth")] {
            let error = #expect(throws: PluginError.self) {
                try PluginStage(name, in: directory, settings: settings).destination.open(from: Cursor(position: 0))
            }
            #expect(error?.description.contains(problem) == true, "\(name): \(error?.description ?? "")")
        }
    }
}
