// PluginHosting: finds, checks and loads plugins (penstock_plugin.h), and runs them in processes of their own. Sinks
// (Destinations) and sources (PluginSources) are built on it; it knows neither deliveries nor offers.
//
// - A file is loaded only if no user but root and the daemon's own could have changed it. The file that was checked is
//   the file that is loaded (PluginFile, PluginLibrary).
// - The host never uses a plugin's data after the call that passed it, and never unloads a library.
// - The settings are checked against the plugin's schema before the plugin gets them (PluginSettings).
// - A plugin's process may do anything that its memory permits: it may end, hang, or send any bytes (PluginProcess). A
//   message that the protocol does not allow ends the process. This process, its sockets and its other plugins go on.
//
// Threads: each process has a thread that receives its messages and one that reads its output. They call the process's
// `PluginMessageReceiver`, which must not wait for anything.

/// What a plugin's process may use.
package struct PluginLimits: Sendable {
    /// Bytes of private memory.
    package var memory = 512 << 20
    /// Processors, on average; nil: no limit.
    package var processors: Double?
    package var openFiles = 1024

    package init() {}
}
