import Control
import Foundation
import Testing

/// `GET /configuration` on the control socket.
@Suite struct ConfigurationReportTests {
    private static let configuration = """
        routes: [ { to: [archive, service] } ]
        destinations:
          archive: { file: archive.ndjson }
          service: { preset: own }

        """
    private static let preset = """
        title: Own
        description: a service of our own
        destination: { http: "http://127.0.0.1:9/" }

        """

    private func daemon() throws -> TestDaemon {
        let daemon = try TestDaemon(configuration: "plan: plan.yaml\n" + Self.configuration)
        try write("events: { Signup: {} }\n", to: daemon.path("plan.yaml"))
        for name in ["conf.d", "presets"] {
            try FileManager.default.createDirectory(atPath: daemon.path(name), withIntermediateDirectories: false)
        }
        try write(Self.preset, to: daemon.path("presets/own.yaml"))
        try write("destinations: { more: { file: more.ndjson } }\n", to: daemon.path("conf.d/more.yaml"))
        try write("routes: [ { to: [more] } ]\n", to: daemon.path("conf.d/routes.yaml"))
        try daemon.start()
        return daemon
    }

    private func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    private func report(_ daemon: TestDaemon) throws -> ConfigurationReport {
        let answer = try ControlClient(socket: daemon.control).get("/configuration")
        if !answer.isSuccess { throw Failure(answer.error) }
        return try answer.decode()
    }

    private func states(_ daemon: TestDaemon) throws -> [String: ConfigurationReport.File.State] {
        let files = try report(daemon).files.map { ($0.path.replacing(daemon.directory + "/", with: ""), $0.state) }
        return Dictionary(uniqueKeysWithValues: files)
    }

    @Test func `the files of the running configuration are shown as they were read`() throws {
        let daemon = try daemon()
        let report = try report(daemon)
        #expect(report.file == daemon.configurationFile)
        #expect(!report.differs)
        let paths = ["penstock.yaml", "conf.d/more.yaml", "conf.d/routes.yaml", "plan.yaml", "presets/own.yaml"]
        #expect(report.files.map(\.path) == paths.map(daemon.path))
        #expect(report.files.map(\.kind) == [.configuration, .configuration, .configuration, .plan, .preset])
        for file in report.files {
            #expect(file.state == .same)
            #expect(file.running == (try String(contentsOfFile: file.path, encoding: .utf8)))
            #expect(file.onDisk == nil)
        }
    }

    @Test func `a change on disk is shown beside the running text, until it is applied`() throws {
        let daemon = try daemon()
        let before = try report(daemon)
        try daemon.write(configuration: Self.configuration.replacing("archive.ndjson", with: "other.ndjson"))
        try write("destinations: { more: { file: [] } }\n", to: daemon.path("conf.d/more.yaml"))
        try FileManager.default.removeItem(atPath: daemon.path("conf.d/routes.yaml"))
        try write("routes: [ { to: [more, archive] } ]\n", to: daemon.path("conf.d/z.yaml"))
        try Data([0xFF]).write(to: URL(fileURLWithPath: daemon.path("presets/own.yaml")))

        // A refused reload changes nothing.
        #expect(try !daemon.reload().applied)
        var report = try report(daemon)
        #expect(report.differs)
        #expect(report.appliedAt == before.appliedAt)
        #expect(
            try states(daemon) == [
                "penstock.yaml": .changed, "conf.d/more.yaml": .changed, "conf.d/z.yaml": .added,
                "conf.d/routes.yaml": .removed, "plan.yaml": .same, "presets/own.yaml": .unreadable,
            ])
        #expect(report.files[0].running == before.files[0].running)
        #expect(report.files[0].onDisk == (try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)))
        let preset = try #require(report.files.first { $0.kind == .preset })
        #expect(preset.running == Self.preset)
        #expect(preset.problem == "the file is not valid UTF-8 here")

        try write(Self.preset, to: daemon.path("presets/own.yaml"))
        try write("destinations: { more: { file: more.ndjson } }\n", to: daemon.path("conf.d/more.yaml"))
        let reload = try daemon.reload()
        #expect(reload.applied, "\(reload.errors)")
        report = try self.report(daemon)
        #expect(!report.differs)
        #expect(report.appliedAt > before.appliedAt)
        // The plan is no longer part of the configuration.
        #expect(
            try states(daemon) == [
                "penstock.yaml": .same, "conf.d/more.yaml": .same, "conf.d/z.yaml": .same, "presets/own.yaml": .same,
            ])
    }
}
