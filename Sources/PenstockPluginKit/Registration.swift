import CPenstockPlugin
import Glibc
import Synchronization

/// The plugin of this library: its tables, and what makes instances. Created once, never freed.
@safe struct Registration: @unchecked Sendable {
    typealias MakeSink = @Sendable (String, Host) throws -> SinkInstance
    typealias MakeSource = @Sendable (String, SourceHost) throws -> SourceInstance

    let table: UnsafePointer<penstock_plugin>
    let position: UnsafePointer<penstock_position>
    let source: UnsafePointer<penstock_source>?
    let keepsPosition: Bool
    /// nil: the plugin is a source alone.
    let makeSink: MakeSink?
    /// nil: the plugin is a sink alone.
    let makeSource: MakeSource?

    private static let only = Mutex<Registration?>(nil)

    /// nil: the entry function was not called.
    static var current: Registration? { only.withLock(\.self) }

    /// - Returns: nil: the host has another major version.
    static func table(
        _ plugin: Plugin, _ major: UInt32, makeSink: MakeSink?, _ source: SourceDescription? = nil,
        makeSource: MakeSource? = nil
    ) -> UnsafePointer<penstock_plugin>? {
        guard major == UInt32(PENSTOCK_PLUGIN_MAJOR) else { return nil }
        return unsafe only.withLock { only in
            let registration = only ?? Registration(plugin, makeSink, source, makeSource)
            only = registration
            return unsafe BorrowedTable(table: registration.table)
        }.table
    }

    private init(
        _ plugin: Plugin, _ makeSink: MakeSink?, _ source: SourceDescription?, _ makeSource: MakeSource?
    ) {
        let table = UnsafeMutablePointer<penstock_plugin>.allocate(capacity: 1)
        unsafe table.initialize(
            to: penstock_plugin(
                struct_size: UInt32(MemoryLayout<penstock_plugin>.size), abi_major: UInt16(PENSTOCK_PLUGIN_MAJOR),
                abi_minor: UInt16(PENSTOCK_PLUGIN_MINOR), name: strdup(plugin.name), version: strdup(plugin.version),
                summary: strdup(plugin.summary), settings_schema: plugin.schema.flatMap { unsafe strdup($0) },
                create: makeSink == nil ? nil : createSink, needs: plugin.needs.flatMap { unsafe strdup($0) },
                extension: source == nil ? nil : findExtension))
        unsafe self.table = UnsafePointer(table)
        let position = UnsafeMutablePointer<penstock_position>.allocate(capacity: 1)
        unsafe position.initialize(
            to: penstock_position(
                struct_size: UInt32(MemoryLayout<penstock_position>.size), reserved: 0, durable: durablePosition))
        unsafe self.position = UnsafePointer(position)
        unsafe self.source = source.map { source in
            let table = UnsafeMutablePointer<penstock_source>.allocate(capacity: 1)
            unsafe table.initialize(
                to: penstock_source(
                    struct_size: UInt32(MemoryLayout<penstock_source>.size), reserved: 0,
                    settings_schema: source.schema.flatMap { unsafe strdup($0) },
                    needs: source.needs.flatMap { unsafe strdup($0) }, create: createSource))
            return unsafe UnsafePointer(table)
        }
        keepsPosition = plugin.keepsPosition
        self.makeSink = makeSink
        self.makeSource = makeSource
    }
}

/// Never freed.
@safe private struct BorrowedTable: @unchecked Sendable {
    let table: UnsafePointer<penstock_plugin>
}

private func findExtension(_ id: UnsafePointer<CChar>?) -> UnsafeRawPointer? {
    guard let id = unsafe id, unsafe strcmp(id, PENSTOCK_SOURCE) == 0 else { return nil }
    return unsafe Registration.current?.source.map { unsafe UnsafeRawPointer($0) }
}
