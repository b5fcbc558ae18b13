import CPenstockPlugin
import CPluginChannel
import Platform
import Synchronization

/// A plugin's library, loaded and checked for a compatible interface version. It is loaded once and never unloaded:
/// after a dlclose of a Swift library, caches of the runtime still point into it.
package final class PluginLibrary: Sendable {
    package let description: PluginDescription
    package let plugin: LoadedPlugin

    /// Points into the library, which stays loaded forever.
    @safe package struct LoadedPlugin: @unchecked Sendable {
        package let table: UnsafePointer<penstock_plugin>
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
                return .failure(PluginDescription.notLoadable(path, error.reason))
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
                "\(path) is not a plugin: it does not export penstock_plugin_entry (see penstock_plugin.h)")
        }
        let entry = unsafe unsafeBitCast(symbol, to: penstock_plugin_entry_function.self)
        let major = UInt32(PENSTOCK_PLUGIN_MAJOR)
        let minor = UInt32(PENSTOCK_PLUGIN_MINOR)
        guard let table = unsafe entry(major, minor) else {
            throw PluginDescription.incompatible(path, (0, 0), size: 0)
        }
        // The major number is at the same offset in every version. No other field may be read before it matches.
        let theirs = unsafe (major: table.pointee.abi_major, minor: table.pointee.abi_minor)
        let size = unsafe Int(table.pointee.struct_size)
        guard UInt32(theirs.major) == major, size >= Int(PLUGIN_SIZE_1_0) else {
            throw PluginDescription.incompatible(path, theirs, size: size)
        }
        guard let name = unsafe boundedString(table.pointee.name, 64), !name.isEmpty,
            let version = unsafe boundedString(table.pointee.version, 64),
            let summary = unsafe boundedString(table.pointee.summary, 256)
        else {
            throw PluginDescription.incomplete(path)
        }
        let source = unsafe try Self.source(of: table, size: size, path)
        let isSink = unsafe table.pointee.create != nil
        guard isSink || source != nil else { throw PluginDescription.incomplete(path) }
        description = PluginDescription(
            path: path, name: name, version: version, summary: summary, abi: theirs,
            sink: isSink
                ? (
                    unsafe boundedString(table.pointee.settings_schema, 1 << 20),
                    unsafe boundedString(table.pointee.needs, 4096)
                ) : nil,
            source: source)
        plugin = unsafe LoadedPlugin(table: table)
    }

    /// The schema and the needs of the plugin's source; nil: it is none.
    private static func source(
        of table: UnsafePointer<penstock_plugin>, size: Int, _ path: String
    ) throws(PluginError) -> (schema: String?, needs: String?)? {
        // An older table ends before `extension`.
        guard size >= Int(PLUGIN_SIZE_1_1),
            let found = unsafe table.pointee.extension?(PENSTOCK_SOURCE)
        else { return nil }
        let source = unsafe found.assumingMemoryBound(to: penstock_source.self)
        guard unsafe source.pointee.struct_size >= PLUGIN_SOURCE_SIZE_1_1, unsafe source.pointee.create != nil else {
            throw PluginDescription.invalidSource(path)
        }
        return (
            unsafe boundedString(source.pointee.settings_schema, 1 << 20),
            unsafe boundedString(source.pointee.needs, 4096)
        )
    }
}

extension PluginFile {
    consuming func takeDescriptor() -> Int32 { file.release() }
}

/// A copy of a plugin's C string, cut at `limit` bytes, with invalid UTF-8 repaired. nil for NULL.
package func boundedString(_ text: UnsafePointer<CChar>?, _ limit: Int) -> String? {
    guard let text = unsafe text else { return nil }
    var count = 0
    while count < limit, unsafe text[count] != 0 { count += 1 }
    let bytes = unsafe UnsafeRawBufferPointer(start: text, count: count)
    return unsafe String(decoding: bytes, as: UTF8.self)
}
