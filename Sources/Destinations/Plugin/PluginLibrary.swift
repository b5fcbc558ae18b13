import CPenstockPlugin
import Platform
import Synchronization

/// A plugin's library, loaded and checked for a compatible interface version. It is loaded once and never unloaded:
/// after a dlclose of a Swift library, caches of the runtime still point into it.
package final class PluginLibrary: Sendable {
    /// The absolute path of its file.
    package let path: String
    package let name: String
    package let version: String
    package let summary: String
    /// The JSON Schema text of its settings; nil: any settings are valid.
    package let schema: String?
    /// The interface version that the plugin reports: major and minor of the header that it was compiled with.
    package let abi: (major: UInt16, minor: UInt16)
    let plugin: LoadedPlugin

    /// Points into the library, which stays loaded forever.
    @safe struct LoadedPlugin: @unchecked Sendable {
        let table: UnsafePointer<penstock_plugin>
    }

    /// The result for every file that the loader accepted. It also keeps the descriptors open: the loader knows a
    /// library by the name it was opened with, so if a number of /proc/self/fd were reused, the loader would return the
    /// old library.
    private static let loaded = Mutex<[TrustedFile.Identity: Loaded]>([:])

    private struct Loaded {
        var result: Result<PluginLibrary, PluginError>
        var descriptor: Int32
    }

    /// Loads the file, or returns the library that was loaded from it before.
    package static func load(_ file: consuming PluginFile) throws(PluginError) -> PluginLibrary {
        let identity = file.file.identity
        let path = file.path
        let descriptor = file.takeDescriptor()
        return try loaded.withLock { loaded -> Result<PluginLibrary, PluginError> in
            if let known = loaded[identity] {
                _ = FileDescriptor(owning: descriptor)
                return known.result
            }
            let library: DynamicLibrary
            do throws(DynamicLibrary.LoadError) {
                library = try DynamicLibrary(openedAs: descriptor)
            } catch {
                _ = FileDescriptor(owning: descriptor)
                return .failure(PluginError(.notLoadable, "\(path) cannot be loaded: \(error.reason)"))
            }
            let result = Result { () throws(PluginError) in try PluginLibrary(library, path) }
            loaded[identity] = Loaded(result: result, descriptor: descriptor)
            return result
        }.get()
    }

    private init(_ library: DynamicLibrary, _ path: String) throws(PluginError) {
        guard let symbol = unsafe library.symbol("penstock_plugin_entry") else {
            throw PluginError(
                .notLoadable,
                "\(path) is not a sink plugin: it does not export penstock_plugin_entry (see penstock_plugin.h)")
        }
        let entry = unsafe unsafeBitCast(symbol, to: penstock_plugin_entry_function.self)
        let major = UInt32(PENSTOCK_PLUGIN_MAJOR)
        let minor = UInt32(PENSTOCK_PLUGIN_MINOR)
        guard let table = unsafe entry(major, minor) else {
            throw PluginError(
                .incompatible,
                """
                \(path) does not support version \(major).\(minor) of the plugin interface: install a \
                plugin made for this version of Penstock
                """
            )
        }
        // The major number is at the same offset in every version. No other field may be read before it matches.
        let theirs = unsafe (major: table.pointee.abi_major, minor: table.pointee.abi_minor)
        guard UInt32(theirs.major) == major else {
            throw PluginError(
                .incompatible,
                """
                \(path) was made for version \(theirs.major).\(theirs.minor) of the plugin interface, but \
                this Penstock has version \(major).\(minor): compile it with this Penstock's penstock_plugin.h
                """
            )
        }
        let size = unsafe Int(table.pointee.struct_size)
        let needed = unsafe MemoryLayout<penstock_plugin>.size
        guard size >= needed else {
            throw PluginError(
                .incompatible,
                """
                \(path) has a struct_size of \(size) bytes, but the interface needs \(needed): set \
                struct_size to sizeof(penstock_plugin)
                """
            )
        }
        guard let name = unsafe boundedString(table.pointee.name, 64), !name.isEmpty,
            let version = unsafe boundedString(table.pointee.version, 64),
            let summary = unsafe boundedString(table.pointee.summary, 256), unsafe table.pointee.create != nil
        else {
            throw PluginError(
                .incompatible, "\(path) leaves out its name, version, summary or create: all four are required")
        }
        self.path = path
        self.name = name
        self.version = version
        self.summary = summary
        schema = unsafe boundedString(table.pointee.settings_schema, 1 << 20)
        abi = theirs
        plugin = unsafe LoadedPlugin(table: table)
    }

    /// The violations in these settings; empty: none.
    /// - Throws: if the plugin's schema is invalid.
    package func violations(inSettings settings: String) throws(PluginError) -> [SettingsViolation] {
        guard let schema else { return [] }
        return try SettingsSchema(schema, of: "\(name) (\(path))").violations(in: settings)
    }

    /// The settings that are paths, as written.
    package func paths(inSettings settings: String) throws(PluginError) -> [(name: String, path: String)] {
        guard let schema else { return [] }
        return try SettingsSchema(schema, of: "\(name) (\(path))").paths(in: settings)
    }

    /// The settings with relative paths made absolute, for settings that the schema declares as paths.
    package func resolvingPaths(inSettings settings: String, from directory: String) throws(PluginError) -> String {
        guard let schema else { return settings }
        return try SettingsSchema(schema, of: "\(name) (\(path))").resolvingPaths(in: settings, from: directory)
    }
}

extension PluginFile {
    consuming func takeDescriptor() -> Int32 { file.release() }
}

/// A copy of a plugin's C string, cut at `limit` bytes, with invalid UTF-8 repaired. nil for NULL.
func boundedString(_ text: UnsafePointer<CChar>?, _ limit: Int) -> String? {
    guard let text = unsafe text else { return nil }
    var count = 0
    while count < limit, unsafe text[count] != 0 { count += 1 }
    let bytes = unsafe UnsafeRawBufferPointer(start: text, count: count)
    return unsafe String(decoding: bytes, as: UTF8.self)
}
