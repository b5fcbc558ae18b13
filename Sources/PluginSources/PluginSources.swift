// PluginSources: source plugins, which bring events in (penstock_plugin.h, "penstock.source/1").
//
// - Each source has a thread (SourceWorker) and a process of its own (SourceProcess). Nothing that the plugin does
//   there blocks or ends anything else.
// - An offer's events and its position are appended in one commit, or none of them. A position that is durable in the
//   journal covers all events before it; a plugin that starts at its positions neither loses nor repeats an event.
// - The plugin learns that an offer is stored only after the journal's durable end has passed it.
// - An event that is refused never stops the events after it, and its position still moves on.
// - An offer waits while the journal is busy, full or closing: its sender still has the events, so none is refused for
//   that. Memory is bounded by the window: a plugin whose offers are not stored yet is answered BUSY.
// - The process is not trusted. What it sends is checked again here; a message that the protocol does not allow, an
//   offer past the window or a call past its deadline ends it. A new process starts, after a while, where the journal
//   has stored each position, and not before all that was appended is durable.
//
// Threads: the source's worker, and the two threads of its process, which only put what they receive into a bounded
// queue. The journal's and the daemon's threads only set flags and ring a bell.

import Ingest
import Platform
import PluginHosting
import Telemetry

package struct PluginSourceOptions: Sendable {
    /// The source's name in the configuration.
    package var name: String
    /// The plugin's name: its file is NAME.so or libNAME.so in one of the directories.
    package var plugin: String
    package var directories: [String]
    /// The JSON text of an object, with secrets filled in.
    package var settings: String
    /// The absolute directory that relative paths in the settings start from.
    package var directory = "/"
    /// What the plugin's process may use.
    package var limits = PluginLimits()
    /// How long a call of the plugin may take.
    package var deadline: Duration = .seconds(30)
    /// The most bytes of offers that are not stored yet, with a fixed number for each offer and event. A larger offer
    /// is taken when there is no other one.
    package var window = 4 << 20
    /// How old events that it brings in may be while the daemon is ready.
    package var readyLag = Duration.seconds(300)
    /// The most bytes of an offer of several events; at most 256 KiB.
    package var offerBytes = 256 << 10
    /// The bounds of an event.
    package var events: SourceLimits
    /// The id of the journal; empty if unknown.
    package var journal: String
    /// The least severe level that is logged.
    package var logLevel: Level
    /// The program of the plugin's process.
    package var hostProgram = PluginHostProgram.path
    /// The wait before a process is started again, or connects again. It doubles up to the longest, and starts anew
    /// after a process has worked for `settled`.
    package var shortestRetry: Duration = .seconds(1)
    package var longestRetry: Duration = .seconds(60)
    package var settled: Duration = .seconds(60)

    package init(
        name: String, plugin: String, directories: [String], settings: String = "{}", events: SourceLimits,
        journal: String = "", logLevel: Level = .info
    ) {
        self.name = name
        self.plugin = plugin
        self.directories = directories
        self.settings = settings
        self.events = events
        self.journal = journal
        self.logLevel = logLevel
    }

    /// The value of `offerBytes` with which an offer fits the journal's queue, also after the tracking plan has added
    /// to its events: the journal takes all of an offer or nothing.
    /// - Parameter journalQueue: in bytes (`journal.queue`).
    package static func offerBytes(journalQueue: Int) -> Int { min(256 << 10, max(journalQueue / 4, 1)) }
}
