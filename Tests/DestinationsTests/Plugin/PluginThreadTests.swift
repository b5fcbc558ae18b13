import Delivery
import Destinations
import Foundation
import PluginHosting
import PluginTesting
import Synchronization
import Testing

/// A plugin whose library starts threads when it is loaded, before the host knows its needs. The plugin is
/// Tests/Plugins/early_threads.c.
@Suite struct PluginThreadTests {
    let directory: PluginTestDirectory
    let forbidden: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        forbidden = try PluginTestDirectory()
    }

    private func stage(_ options: String...) throws -> PluginStage {
        let (status, output) = try TestCompiler.run(
            [
                "clang", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread",
                "-fvisibility=hidden", "-I", TestCompiler.headers, "-o", "\(directory.path)/libearly_threads.so",
                TestCompiler.sources.appendingPathComponent("Plugins/early_threads.c").path,
            ] + options)
        guard status == 0 else { throw TestProblem(description: output) }
        return try PluginStage(
            "early_threads", in: directory,
            settings: #"{"directory":"\#(forbidden.path)","path":"\#(directory.path)/data/inside"}"#)
    }

    @Test(.enabled(if: TestKernel.hasLandlock, "the kernel has no Landlock"))
    func `threads that a library starts when it is loaded have the limits of its needs`() throws {
        let stage = try stage()
        _ = try stage.destination.open(from: Cursor(position: 0))
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(
            stage.destination.metrics.gauges == [
                "main_inside": 1, "main_outside": 0, "thread_inside": 1, "thread_outside": 0,
            ])
        #expect(try FileManager.default.contentsOfDirectory(atPath: forbidden.path) == [])
    }

    @Test(.enabled(if: TestKernel.hasLandlock, "the kernel has no Landlock"))
    func `a thread that cannot be limited ends the process, and the log says why`() throws {
        let stage = try stage("-DVARIANT_DEAF")
        #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        let line = "cannot limit the files of a thread that the plugin started when it was loaded"
        #expect(pluginEventually { stage.log.lines.withLock { $0.contains { $0.contains(line) } } })
    }
}
