import CPenstockPlugin
import Glibc

/// What `penstock_plugin_entry` returns for a sink.
/// - Parameter major: the host's major version, the entry's first argument.
public func entry<S: BlockingSink>(to sink: S.Type, _ major: UInt32) -> UnsafePointer<penstock_plugin>? {
    unsafe Registration.table(S.plugin, major, makeSink: make(sink))
}

/// What `penstock_plugin_entry` returns for a plugin that is a sink and a source.
/// - Parameter major: the host's major version, the entry's first argument.
public func entry<S: BlockingSink, T: Source>(
    to sink: S.Type, source: T.Type, _ major: UInt32
) -> UnsafePointer<penstock_plugin>? {
    unsafe Registration.table(S.plugin, major, makeSink: make(sink), T.source, makeSource: make(source))
}

/// What `penstock_plugin_entry` returns for a sink.
/// - Parameter major: the host's major version, the entry's first argument.
public func entry<S: AsyncSink>(to sink: S.Type, _ major: UInt32) -> UnsafePointer<penstock_plugin>? {
    unsafe Registration.table(S.plugin, major, makeSink: make(sink))
}

/// What `penstock_plugin_entry` returns for a plugin that is a sink and a source.
/// - Parameter major: the host's major version, the entry's first argument.
public func entry<S: AsyncSink, T: Source>(
    to sink: S.Type, source: T.Type, _ major: UInt32
) -> UnsafePointer<penstock_plugin>? {
    unsafe Registration.table(S.plugin, major, makeSink: make(sink), T.source, makeSource: make(source))
}

/// What `penstock_plugin_entry` returns for a sink.
/// - Parameter major: the host's major version, the entry's first argument.
public func entry<S: SettlingSink>(to sink: S.Type, _ major: UInt32) -> UnsafePointer<penstock_plugin>? {
    unsafe Registration.table(S.plugin, major, makeSink: make(sink))
}

/// What `penstock_plugin_entry` returns for a plugin that is a sink and a source.
/// - Parameter major: the host's major version, the entry's first argument.
public func entry<S: SettlingSink, T: Source>(
    to sink: S.Type, source: T.Type, _ major: UInt32
) -> UnsafePointer<penstock_plugin>? {
    unsafe Registration.table(S.plugin, major, makeSink: make(sink), T.source, makeSource: make(source))
}

/// What `penstock_plugin_entry` returns for a plugin that is a source alone.
/// - Parameters:
///   - plugin: its name, version and summary.
///   - major: the host's major version, the entry's first argument.
public func entry<T: Source>(
    source: T.Type, of plugin: Plugin, _ major: UInt32
) -> UnsafePointer<penstock_plugin>? {
    unsafe Registration.table(plugin, major, makeSink: nil, T.source, makeSource: make(source))
}

private func make<S: BlockingSink>(_ sink: S.Type) -> Registration.MakeSink {
    { json, host throws in BlockingInstance(try S(settings: decode(json), host: host), host) }
}

private func make<S: AsyncSink>(_ sink: S.Type) -> Registration.MakeSink {
    { json, host throws in AsyncInstance(try S(settings: decode(json), host: host), host) }
}

private func make<S: SettlingSink>(_ sink: S.Type) -> Registration.MakeSink {
    { json, host throws in SettlingInstance(try S(settings: decode(json), host: host), host) }
}

private func make<T: Source>(_ source: T.Type) -> Registration.MakeSource {
    { json, host throws in TypedSourceInstance(try T(settings: decode(json), host: host)) }
}
