import Delivery
import Destinations
import Foundation
import PluginHosting
import PluginTesting
import Testing

/// Versions within major 1: an older plugin with a newer host, and the reverse. The newer header is this one with a
/// field added at the end of each struct that may grow.
@Suite struct PluginCompatibilityTests {
    private static let growing = [
        "penstock_plugin", "penstock_position", "penstock_outcome", "penstock_batch", "penstock_instance",
    ]

    let directory: PluginTestDirectory
    let newer: String

    init() throws {
        directory = try PluginTestDirectory()
        newer = "\(directory.path)/include"
        try FileManager.default.createDirectory(atPath: newer, withIntermediateDirectories: false)
        var header = try String(contentsOfFile: "\(TestCompiler.headers)/penstock_plugin.h", encoding: .utf8)
        for name in Self.growing {
            header = header.replacingOccurrences(of: "\n} \(name);", with: "\n    uint64_t added_later[2];\n} \(name);")
        }
        header = header.replacingOccurrences(
            of: "const char *id);\n};",
            with: "const char *id);\n    void (*added_later)(const penstock_host *host);\n};")
        header = header.replacingOccurrences(
            of: "#define PENSTOCK_PLUGIN_MINOR 2", with: "#define PENSTOCK_PLUGIN_MINOR 3")
        #expect(header.contains("PENSTOCK_PLUGIN_MINOR 3"))
        #expect(header.components(separatedBy: "added_later").count == Self.growing.count + 2)
        try header.write(toFile: "\(newer)/penstock_plugin.h", atomically: true, encoding: .utf8)
    }

    private func compile(_ arguments: [String]) throws {
        let (status, output) = try TestCompiler.run(
            [
                "clang", "-std=gnu11", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror", "-pthread",
                "-D_GNU_SOURCE",
            ] + arguments)
        #expect(status == 0, "\(output)")
    }

    private var misbehaving: String { TestCompiler.sources.appendingPathComponent("Plugins/misbehaving.c").path }

    private func run(_ mode: String, program: String? = nil, isolation: PluginDestinationOptions.Isolation) throws {
        let stage = try PluginStage(in: directory, settings: #"{"mode":"\#(mode)","position":7}"#, isolation: isolation)
        { if let program { $0.hostProgram = program } }
        #expect(try stage.destination.open(from: Cursor(position: 5)) == nil)
        let batch = stage.offer([8, 9, 10, 11, 12])
        #expect(pluginEventually { !stage.answers(batch).isEmpty })
        let retry = Outcome.retry(reason: "the plugin reported no outcome for the event")
        let expected: [Outcome] =
            mode == "mixed"
            ? [
                retry, .delivered, .retry(reason: "later", after: .milliseconds(1500)), .rejected(reason: "bad row"),
                retry,
            ] : Array(repeating: .delivered, count: 5)
        #expect(stage.outcomes(batch, count: 5) == expected)
        #expect(
            stage.destination.metrics.counters["whole_payloads"] == (["mixed", "strided"].contains(mode) ? nil : 5))
        #expect(try stage.destination.checkpoint() != nil)
        stage.destination.close()
    }

    @Test(arguments: ["plain", "mixed", "thread", "strided"], PluginDestinationOptions.Isolation.allCases)
    func `a newer plugin works with this host`(mode: String, isolation: PluginDestinationOptions.Isolation) throws {
        try compile([
            "-shared", "-fPIC", "-fvisibility=hidden", "-DVARIANT_PLAIN", "-I", newer, "-o",
            "\(directory.path)/libmisbehaving.so", misbehaving,
        ])
        try run(mode, isolation: isolation)
    }

    @Test(arguments: ["plain", "mixed", "thread"])
    func `this plugin works with a newer host`(mode: String) throws {
        let package = TestCompiler.sources.deletingLastPathComponent().appendingPathComponent("Sources")
        let host = package.appendingPathComponent("penstock-plugin-host").path
        let sources = try FileManager.default.contentsOfDirectory(atPath: host).filter { $0.hasSuffix(".c") }
        let program = "\(directory.path)/penstock-plugin-host"
        try compile(
            sources.map { "\(host)/\($0)" } + [
                "-I", newer, "-I", package.appendingPathComponent("CPluginChannel/include").path, "-o", program, "-ldl",
            ])
        try directory.addMisbehaving()
        try run(mode, program: program, isolation: .process)
    }
}
