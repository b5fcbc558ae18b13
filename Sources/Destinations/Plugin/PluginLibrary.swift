import CPenstockPlugin
import Glibc
import Platform
import Synchronization

/// A plugin's code, loaded and found to speak our version of the interface. Loaded once, and
/// never unloaded: dlclose of a Swift library leaves caches of the runtime pointing into it.
package final class PluginLibrary: Sendable {
    /// Absolute path of the file it was loaded from.
    package let path: String
    package let name: String
    package let version: String
    package let summary: String
    /// JSON Schema text of its settings; nil: it takes anything.
    package let schema: String?
    /// As the plugin says: major and minor of the header that it was compiled with.
    package let abi: (major: UInt16, minor: UInt16)
    let plugin: LoadedPlugin

    /// Points into the library, which stays for ever.
    @safe struct LoadedPlugin: @unchecked Sendable {
        let table: UnsafePointer<penstock_plugin>
    }

    /// What became of every file that the loader took. It also keeps the descriptors open: the
    /// loader knows a library by the name it was opened with, and would hand out the old library
    /// for a number of /proc/self/fd that is used a second time.
    private static let loaded = Mutex<[PluginFile.Identity: Loaded]>([:])

    private struct Loaded {
        var result: Result<PluginLibrary, PluginError>
        var descriptor: Int32
    }

    /// Loads the file, or gives the library that was loaded from it before.
    package static func load(_ file: consuming PluginFile) throws(PluginError) -> PluginLibrary {
        let identity = file.identity
        let path = file.path
        let descriptor = file.takeDescriptor()
        return try loaded.withLock { loaded -> Result<PluginLibrary, PluginError> in
            if let known = loaded[identity] {
                _ = close(descriptor)
                return known.result
            }
            guard let handle = unsafe dlopen("/proc/self/fd/\(descriptor)", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)
            else {
                let reason = loaderError()
                _ = close(descriptor)
                return .failure(PluginError(.notLoadable, "\(path) cannot be loaded: \(reason)"))
            }
            let result = Result { () throws(PluginError) in unsafe try PluginLibrary(handle, path) }
            loaded[identity] = Loaded(result: result, descriptor: descriptor)
            return result
        }.get()
    }

    /// The loader names the descriptor; the operator knows the path.
    private static func loaderError() -> String {
        guard let text = unsafe dlerror() else { return "the loader gives no reason" }
        let reason = unsafe String(cString: text)
        guard reason.hasPrefix("/proc/self/fd/"), let colon = reason.firstIndex(of: ":") else { return reason }
        return String(reason[colon...].drop { $0 == ":" || $0 == " " })
    }

    private init(_ handle: UnsafeMutableRawPointer, _ path: String) throws(PluginError) {
        guard let symbol = unsafe dlsym(handle, "penstock_plugin_entry") else {
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
                \(path) does not work with version \(major).\(minor) of the plugin interface: install a \
                plugin made for this Penstock
                """
            )
        }
        // The major is at the same place in every version; nothing else is read before it fits.
        let theirs = unsafe (major: table.pointee.abi_major, minor: table.pointee.abi_minor)
        guard UInt32(theirs.major) == major else {
            throw PluginError(
                .incompatible,
                """
                \(path) was made for version \(theirs.major).\(theirs.minor) of the plugin interface, \
                this is \(major).\(minor): compile it with this Penstock's penstock_plugin.h
                """
            )
        }
        let size = unsafe Int(table.pointee.struct_size)
        let needed = unsafe MemoryLayout<penstock_plugin>.size
        guard size >= needed else {
            throw PluginError(
                .incompatible,
                """
                \(path) describes itself in \(size) bytes, the interface needs \(needed): set \
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

    /// What is wrong with these settings; empty: nothing.
    /// - Throws: if the plugin's schema itself cannot be read.
    package func violations(inSettings settings: String) throws(PluginError) -> [SettingsViolation] {
        guard let schema else { return [] }
        return try SettingsSchema(schema, of: "\(name) (\(path))").violations(in: settings)
    }

    /// The settings that are paths, as written.
    package func paths(inSettings settings: String) throws(PluginError) -> [(name: String, path: String)] {
        guard let schema else { return [] }
        return try SettingsSchema(schema, of: "\(name) (\(path))").paths(in: settings)
    }

    /// The settings with relative paths made absolute, where the schema says that a setting is a path.
    package func resolvingPaths(inSettings settings: String, from directory: String) throws(PluginError) -> String {
        guard let schema else { return settings }
        return try SettingsSchema(schema, of: "\(name) (\(path))").resolvingPaths(in: settings, from: directory)
    }
}

extension PluginFile {
    consuming func takeDescriptor() -> Int32 { descriptor.release() }
}

/// A copy of a C string of the plugin's, cut at `limit` bytes; what is not UTF-8 is repaired. nil
/// for NULL.
func boundedString(_ text: UnsafePointer<CChar>?, _ limit: Int) -> String? {
    guard let text = unsafe text else { return nil }
    let bytes = unsafe UnsafeRawBufferPointer(start: text, count: strnlen(text, limit))
    return unsafe String(decoding: bytes, as: UTF8.self)
}
