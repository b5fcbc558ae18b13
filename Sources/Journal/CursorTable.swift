import Platform
import Synchronization
import Telemetry

/// All destinations' cursors, and what the manifest knows of them. Any thread.
final class CursorTable: Sendable {
    private struct Table {
        var cursors: [String: JournalCursor]
        /// Positions that are on disk: what retention goes by.
        var durable: [String: UInt64]
        var starts: [String: UInt64]
        /// Destinations of the running configuration; nil before they were declared.
        var configured: Set<String>?
        var version: UInt64 = 0
        var durableVersion: UInt64 = 0
        /// The journal's durable end that is kept on disk beside them.
        var keptEnd: UInt64
        /// Positions that destinations were pushed over, by name.
        var dropped: [String: UInt64] = [:]
    }

    private struct Files {
        var cursors: CursorFile
        var manifest: Manifest
    }

    private let site: JournalSite
    private let ends: JournalEnds
    private let live: LiveCursorTable
    private let table: Mutex<Table>
    /// Taken before `table`, and held while writing.
    private let files: Mutex<Files>

    /// A known destination that has no cursor begins again: at its start, or at the first event kept.
    /// - Parameters:
    ///   - kept: what the file held.
    ///   - first: the first position kept.
    init(
        _ site: JournalSite, manifest: Manifest, file: CursorFile, kept: CursorFile.Slot, live: LiveCursorTable, first: UInt64,
        ends: JournalEnds
    ) {
        self.site = site
        self.ends = ends
        self.live = live
        var cursors = kept.cursors
        for name in manifest.starts.keys {
            guard let position = live.position(of: name) else { continue }
            // A position says nothing about a state: a destination that keeps one goes on where it kept it.
            let kept = cursors[name]
            if kept?.state.isEmpty ?? true, position > kept?.position ?? 0 { cursors[name] = JournalCursor(position: position) }
        }
        for (name, start) in manifest.starts.sorted(by: { $0.key < $1.key }) where cursors[name] == nil {
            let position = max(start, first)
            cursors[name] = JournalCursor(position: position)
            site.telemetry.emit(JournalCursorLost(destination: name, start: position, removed: start..<position))
        }
        // What the file holds may be in the page cache only, where a kill has left it: nothing counts as
        // durable before it was written once more.
        var table = Table(cursors: cursors, durable: [:], starts: manifest.starts, keptEnd: kept.durableEnd)
        if !cursors.isEmpty { table.version = 1 }
        self.table = Mutex(table)
        files = Mutex(Files(cursors: file, manifest: manifest))
    }

    /// Makes the destinations known, durably, and takes them for the configured ones: only these
    /// hold segments. What is known already keeps its start.
    func declare(_ destinations: [(name: String, start: UInt64)]) throws(JournalError) {
        for (name, _) in destinations where name.isEmpty || name.utf8.count > 1024 || name.utf8.contains(10) || name.utf8.contains(13) {
            throw JournalError(.invalidOptions, "journal: a destination's name is one line of at most 1024 bytes")
        }
        do throws(SystemError) {
            try files.withLock { files throws(SystemError) in
                var manifest = files.manifest
                let cursors = table.withLock { $0.cursors }
                for (name, start) in destinations where manifest.starts[name] == nil {
                    // A cursor that the manifest has forgotten still counts.
                    manifest.starts[name] = min(start, cursors[name]?.position ?? start)
                }
                if manifest != files.manifest {
                    try site.replace(Manifest.name, with: manifest.encoded, .manifestSync, .manifestDirectorySync)
                    files.manifest = manifest
                }
                let starts = manifest.starts
                table.withLock { table in
                    table.starts = starts
                    for (name, start) in starts where table.cursors[name] == nil {
                        table.cursors[name] = JournalCursor(position: start)
                        table.version &+= 1
                    }
                }
            }
            // So that a cursor that is missing later is one that was lost.
            try commit()
            // Only now: what is refused changes nothing, least of all what holds segments.
            table.withLock { $0.configured = Set(destinations.map(\.name)) }
        } catch {
            throw JournalError("make the destinations known", error)
        }
    }

    /// - Returns: nil for a destination that was never declared.
    func cursor(of name: String) -> JournalCursor? {
        table.withLock { $0.cursors[name] }
    }

    func start(of name: String) -> UInt64 { table.withLock { $0.starts[name] ?? 0 } }

    /// Destinations of the running configuration that stand below `position`.
    func configured(below position: UInt64) -> [(name: String, position: UInt64)] {
        table.withLock { table in
            (table.configured ?? []).sorted().compactMap { name in
                guard let cursor = table.cursors[name], cursor.position < position else { return nil }
                return (name, cursor.position)
            }
        }
    }

    /// Takes a cursor, unless it lies below the one there is, or is too large.
    /// - Parameter replay: its replay's cursor, for the same commit: given the one there is, the next one.
    func advance(
        _ name: String, to cursor: JournalCursor, replay next: (JournalCursor) -> JournalCursor = { $0 }
    ) {
        guard cursor.state.count <= JournalCursor.stateLimit else {
            // What it has is older: its destination gets events again, and loses none.
            site.telemetry.emit(
                JournalFile(
                    detail: "destination \(name) wants to keep \(cursor.state.count) bytes with its cursor, and may keep"
                        + " \(JournalCursor.stateLimit): its cursor stays where it is"))
            return
        }
        table.withLock { table in
            if let old = table.cursors[Self.replay(of: name)], next(old) != old {
                table.cursors[Self.replay(of: name)] = next(old)
                table.version &+= 1
            }
            if let old = table.cursors[name], cursor.position < old.position || cursor == old { return }
            table.cursors[name] = cursor
            table.version &+= 1
        }
    }

    // MARK: Live cursors

    /// Takes how far a passage is, after each settled batch, of a destination that keeps no state. A kill does not
    /// take it back; on disk it is like any other cursor with the next commit.
    func settle(_ name: String, _ cursor: LiveCursor) {
        if cursor.kind == .delivery {
            table.withLock { table in
                guard let old = table.cursors[name], cursor.position > old.position else { return }
                table.cursors[name] = JournalCursor(position: cursor.position)
                table.version &+= 1
            }
        }
        live.set(name, cursor)
    }

    /// nil: there is none of this passage.
    func live(of name: String, _ kind: LiveCursor.Kind, tag: UInt64) -> LiveCursor? {
        guard let found = live.cursor(of: name, kind, tag: tag) else { return nil }
        return kind == .delivery ? found.raised(to: cursor(of: name)?.position ?? 0) : found
    }

    // MARK: Replays

    /// A replay's cursor lies beside the destination's, under a name that no destination can have.
    private static func replay(of name: String) -> String { name + CursorFile.replayMark }

    /// Keeps a replay's cursor; nil: there is no replay (any more).
    func setReplay(_ name: String, to cursor: JournalCursor?) {
        table.withLock { table in
            guard table.cursors[Self.replay(of: name)] != cursor else { return }
            table.cursors[Self.replay(of: name)] = cursor
            table.version &+= 1
        }
    }

    func replay(of name: String) -> JournalCursor? { cursor(of: Self.replay(of: name)) }

    /// Names of the destinations that have one.
    var replays: [String] {
        table.withLock { table in
            table.cursors.keys.filter { $0.hasSuffix(CursorFile.replayMark) }.map { String($0.dropLast(CursorFile.replayMark.count)) }.sorted()
        }
    }

    /// Moves destinations that are behind up to `position`, their state kept.
    /// - Returns: what each of them loses.
    func push(to position: UInt64) -> [(name: String, positions: Range<UInt64>)] {
        table.withLock { table in
            var lost: [(name: String, positions: Range<UInt64>)] = []
            for name in (table.configured ?? []).sorted() {
                var cursor = table.cursors[name] ?? JournalCursor(position: table.starts[name] ?? 0)
                guard cursor.position < position else { continue }
                lost.append((name, cursor.position..<position))
                table.dropped[name, default: 0] &+= position - cursor.position
                cursor.position = position
                table.cursors[name] = cursor
                table.version &+= 1
            }
            return lost
        }
    }

    /// How many read the journal at most: a destination for delivery, and another time for a replay.
    var readers: Int { table.withLock { table in 2 * (table.configured?.count ?? 0) } }

    /// Positions that `push` took from each destination since the start.
    var dropped: [String: UInt64] { table.withLock { $0.dropped } }

    /// Below this no configured destination needs anything, durably; nil: nobody has said yet which
    /// destinations there are.
    var floor: UInt64? {
        table.withLock { table in
            guard let configured = table.configured else { return nil }
            let byDurable = site.protections.contains(.retainByDurableCursors)
            return configured.map { name in
                (byDurable ? table.durable[name] : table.cursors[name]?.position) ?? table.starts[name] ?? 0
            }.min() ?? .max
        }
    }

    /// Returns when every cursor taken so far is durable, and the journal's durable end is kept.
    func commit() throws(SystemError) {
        try files.withLock { files throws(SystemError) in
            let end = ends.durable
            let (isNew, version, cursors) = table.withLock {
                ($0.version != $0.durableVersion || $0.keptEnd != end, $0.version, $0.cursors)
            }
            guard isNew else { return }
            try files.cursors.write(cursors, durableEnd: end)
            table.withLock { table in
                table.durableVersion = version
                table.durable = cursors.mapValues(\.position)
                table.keptEnd = end
            }
        }
    }
}
