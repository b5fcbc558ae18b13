import CPenstockPlugin
import CPluginChannel
import Platform
import Telemetry

extension PluginDescription {
    /// Loads the plugin in its process, and reads what it says about itself.
    package init(
        loadedBy process: PluginProcess, _ path: String, within limit: Duration, _ clock: any Clock
    ) throws(PluginError) {
        let reply: PluginProcess.Reply
        do throws(PluginError) {
            reply = try process.request(PLUGIN_LOAD, within: limit, clock)
        } catch {
            throw PluginError(.notLoadable, "\(path) cannot be loaded: \(error)")
        }
        try self.init(reply, path)
    }

    /// Reads the reply to PLUGIN_LOAD, which may say anything.
    init(_ reply: PluginProcess.Reply, _ path: String) throws(PluginError) {
        let theirs = (major: UInt16(clamping: reply.values.0), minor: UInt16(clamping: reply.values.1))
        let texts = reply.text.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        switch reply.status {
        case PENSTOCK_OK where texts.count == 8 && !texts[0].isEmpty:
            let flags = reply.values.2
            func text(_ index: Int, _ flag: UInt32) -> String? { flags & UInt64(flag) == 0 ? nil : texts[index] }
            guard flags & UInt64(PLUGIN_SOURCE_INVALID) == 0 else { throw Self.invalidSource(path) }
            self.init(
                path: path, name: texts[0], version: texts[1], summary: texts[2], abi: theirs,
                sink: flags & UInt64(PLUGIN_IS_SINK) == 0
                    ? nil : (text(3, PLUGIN_HAS_SCHEMA), text(4, PLUGIN_HAS_NEEDS)),
                source: flags & UInt64(PLUGIN_IS_SOURCE) == 0
                    ? nil : (text(5, PLUGIN_SOURCE_HAS_SCHEMA), text(6, PLUGIN_SOURCE_HAS_NEEDS)))
        case PLUGIN_NOT_LOADABLE:
            // The loader knows the file by its descriptor alone.
            let reason = reply.reason.replacing("/proc/self/fd/\(PLUGIN_CHANNEL_LIBRARY): ", with: "")
            throw Self.notLoadable(path, reason)
        case PLUGIN_INCOMPATIBLE:
            throw Self.incompatible(path, theirs, size: Int(clamping: reply.values.3))
        default: throw Self.incomplete(path)
        }
    }

    /// - Parameters:
    ///   - theirs: the version of the interface that the plugin reports; 0.0 with `size` 0: it returned no table.
    ///   - size: of the plugin's table.
    static func incompatible(_ path: String, _ theirs: (major: UInt16, minor: UInt16), size: Int) -> PluginError {
        let (major, minor) = (PENSTOCK_PLUGIN_MAJOR, PENSTOCK_PLUGIN_MINOR)
        if theirs == (0, 0) && size == 0 {
            return PluginError(
                .incompatible,
                """
                \(path) does not support version \(major).\(minor) of the plugin interface: install a \
                plugin made for this version of Penstock
                """)
        }
        guard Int32(theirs.major) == major else {
            return PluginError(
                .incompatible,
                """
                \(path) was made for version \(theirs.major).\(theirs.minor) of the plugin interface, but \
                this Penstock has version \(major).\(minor): compile it with this Penstock's penstock_plugin.h
                """)
        }
        let needed = Int(PLUGIN_SIZE_1_0)
        guard size >= needed else {
            return PluginError(
                .incompatible,
                """
                \(path) has a struct_size of \(size) bytes, but the interface needs \(needed): set \
                struct_size to sizeof(penstock_plugin)
                """)
        }
        return incomplete(path)
    }

    /// - Parameter reason: the loader's (dlerror(3)).
    static func notLoadable(_ path: String, _ reason: String) -> PluginError {
        if reason.hasPrefix("it does not export") {
            return PluginError(.notLoadable, "\(path) is not a plugin: \(reason)")
        }
        if let end = reason.firstRange(of: ": cannot open shared object file")?.lowerBound {
            return PluginError(
                .notLoadable, "\(path) cannot be loaded: it needs the library \(reason[..<end]), which is not installed"
            )
        }
        return PluginError(.notLoadable, "\(path) cannot be loaded: \(reason)")
    }

    static func incomplete(_ path: String) -> PluginError {
        PluginError(
            .incompatible,
            """
            \(path) leaves out its name, version, summary or create: all four are required (a plugin that is a source \
            alone has \(PENSTOCK_SOURCE) instead of create)
            """)
    }

    static func invalidSource(_ path: String) -> PluginError {
        PluginError(
            .incompatible,
            "\(path) has an invalid \(PENSTOCK_SOURCE): set its struct_size to sizeof(penstock_source), and create")
    }

    /// Reads a plugin's description in a process of its own, which ends then. Nothing that the plugin does when it is
    /// loaded happens in this process.
    /// - Parameters:
    ///   - program: the plugin host.
    ///   - limit: how long loading may take.
    package static func read(
        _ file: consuming PluginFile, program: String = PluginHostProgram.path, within limit: Duration = .seconds(10)
    ) throws(PluginError) -> PluginDescription {
        let path = file.path
        let clock = SystemClock()
        let process = try PluginProcess(
            file.descriptor, program: program, name: path, sendTimeout: limit, limits: .init(),
            receiver: SilentReceiver(), clock)
        defer { process.close() }
        return try PluginDescription(loadedBy: process, path, within: limit, clock)
    }
}

/// For a plugin that is only loaded: it has no business to report yet.
private final class SilentReceiver: PluginMessageReceiver {
    /// Writes nothing, too.
    let reporting = PluginReporting(
        owner: "", telemetry: Telemetry(sink: NoLines(), now: { 0 }), minimum: .error, passesOutput: false)

    func longestMessage(_ type: plugin_channel_type) -> Int? { nil }
    func receive(_ type: plugin_channel_type, token: UInt64, _ body: [UInt8]) -> Bool { false }
    func processEnded() {}

    private struct NoLines: LogSink {
        func write(_ level: Level, _ line: String) {}
    }
}

/// The program that hosts a plugin in its own process.
package enum PluginHostProgram {
    /// Beside this program, as a build leaves it, or installed under libexec. If neither exists, the installed one.
    package static var path: String {
        let beside = "\(directory)/penstock-plugin-host"
        return TrustedFile.exists(beside) ? beside : "\(directory)/../libexec/penstock/penstock-plugin-host"
    }

    /// Where the Swift runtime is installed with Penstock. A plugin that is loaded by its descriptor cannot find it by
    /// its own path.
    static var libraries: String { "\(directory)/../lib/penstock" }

    /// The directory of the running program.
    private static var directory: String {
        let own = TrustedFile.resolve("/proc/self/exe") ?? ""
        return String(own[..<(own.lastIndex(of: "/") ?? own.startIndex)])
    }
}
