import Platform
import Synchronization
import Telemetry

/// The cursors of all destinations, and the destinations that the manifest lists. Any thread.
final class CursorTable: Sendable {
    private struct Table {
        var cursors: [String: JournalCursor]
        /// Positions that are on disk. Retention uses these.
        var durable: [String: UInt64]
        var starts: [String: UInt64]
        /// The destinations of the running configuration; nil until they are declared.
        var configured: Set<String>?
        var version: UInt64 = 0
        var durableVersion: UInt64 = 0
        /// The journal's durable end that is stored with the cursors on disk.
        var keptEnd: UInt64
        /// The number of positions that `push` moved each destination over.
        var dropped: [String: UInt64] = [:]
    }

    private struct Files {
        var cursors: CursorFile
        var manifest: Manifest
    }

    private let context: JournalContext
    private let ends: JournalEnds
    private let live: LiveCursorTable
    private let table: Mutex<Table>
    /// Locked before `table`, and held during writes.
    private let files: Mutex<Files>

    /// A known destination without a cursor starts again, at its start or at the first event kept, whichever is later.
    /// - Parameters:
    ///   - kept: the cursors from the file.
    ///   - first: the position of the first event kept.
    init(
        _ context: JournalContext, manifest: Manifest, file: CursorFile, kept: CursorFile.Slot, live: LiveCursorTable,
        first: UInt64,
        ends: JournalEnds
    ) {
        self.context = context
        self.ends = ends
        self.live = live
        var cursors = kept.cursors
        for name in manifest.starts.keys {
            guard let position = live.position(of: name) else { continue }
            // A live cursor has no state to go with its position: a destination with a state continues from its stored
            // cursor.
            let kept = cursors[name]
            if kept?.state.isEmpty ?? true, position > kept?.position ?? 0 {
                cursors[name] = JournalCursor(position: position)
            }
        }
        for (name, start) in manifest.starts.sorted(by: { $0.key < $1.key }) where cursors[name] == nil {
            let position = max(start, first)
            cursors[name] = JournalCursor(position: position)
            context.telemetry.emit(JournalCursorLost(destination: name, start: position, removed: start..<position))
        }
        // The file's contents may be in the page cache only, after a kill: no cursor counts as durable before it was
        // written again.
        var table = Table(cursors: cursors, durable: [:], starts: manifest.starts, keptEnd: kept.durableEnd)
        if !cursors.isEmpty { table.version = 1 }
        self.table = Mutex(table)
        files = Mutex(Files(cursors: file, manifest: manifest))
    }

    /// Registers the destinations, durably, and replaces the set of configured ones: only these hold segments. A
    /// destination that is already registered keeps its start.
    func declare(_ destinations: [(name: String, start: UInt64)]) throws(JournalError) {
        for (name, _) in destinations
        where name.isEmpty || name.utf8.count > 1024 || name.utf8.contains(10) || name.utf8.contains(13) {
            throw JournalError(.invalidOptions, "journal: a destination's name must be one line of 1 to 1024 bytes")
        }
        do throws(SystemError) {
            try files.withLock { files throws(SystemError) in
                var manifest = files.manifest
                let cursors = table.withLock { $0.cursors }
                for (name, start) in destinations where manifest.starts[name] == nil {
                    // The cursor counts although the manifest does not list the destination.
                    manifest.starts[name] = min(start, cursors[name]?.position ?? start)
                }
                if manifest != files.manifest {
                    try context.replace(Manifest.name, with: manifest.encoded, .manifestSync, .manifestDirectorySync)
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
            // From now on, a missing cursor is known to be lost.
            try commit()
            // Last, so that an error changes nothing, above all not which destinations hold segments.
            table.withLock { $0.configured = Set(destinations.map(\.name)) }
        } catch {
            throw JournalError("register the destinations", error)
        }
    }

    /// - Returns: nil for a destination that was never declared.
    func cursor(of name: String) -> JournalCursor? {
        table.withLock { $0.cursors[name] }
    }

    func start(of name: String) -> UInt64 { table.withLock { $0.starts[name] ?? 0 } }

    /// The configured destinations whose cursor is below `position`.
    func configured(below position: UInt64) -> [(name: String, position: UInt64)] {
        table.withLock { table in
            (table.configured ?? []).sorted().compactMap { name in
                guard let cursor = table.cursors[name], cursor.position < position else { return nil }
                return (name, cursor.position)
            }
        }
    }

    /// Moves a cursor forward. A cursor below the current one, or with too large a state, is ignored.
    /// - Parameter replay: returns the next cursor of the destination's replay, given the current one; both are part of
    ///   the same commit.
    func advance(
        _ name: String, to cursor: JournalCursor, replay next: (JournalCursor) -> JournalCursor = { $0 }
    ) {
        guard cursor.state.count <= JournalCursor.stateLimit else {
            // The current cursor is older: the destination may get events again, and loses none.
            context.telemetry.emit(
                JournalFile(
                    detail: "destination \(name) keeps a state of \(cursor.state.count) bytes with its cursor; at most"
                        + " \(JournalCursor.stateLimit) are allowed: its cursor does not advance, and the destination"
                        + " receives events again after a restart"))
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

    /// Records the progress of a passage after each settled batch, for a destination that keeps no state. It survives a
    /// kill, and becomes durable with the next commit like any other cursor.
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

    /// nil if no live cursor of this passage is recorded.
    func live(of name: String, _ kind: LiveCursor.Kind, tag: UInt64) -> LiveCursor? {
        guard let found = live.cursor(of: name, kind, tag: tag) else { return nil }
        return kind == .delivery ? found.raised(to: cursor(of: name)?.position ?? 0) : found
    }

    // MARK: Replays

    /// A replay's cursor is stored beside the destination's, under a name that no destination can have.
    private static func replay(of name: String) -> String { name + CursorFile.replayMark }

    /// Stores a replay's cursor, or removes it (nil).
    func setReplay(_ name: String, to cursor: JournalCursor?) {
        table.withLock { table in
            guard table.cursors[Self.replay(of: name)] != cursor else { return }
            table.cursors[Self.replay(of: name)] = cursor
            table.version &+= 1
        }
    }

    func replay(of name: String) -> JournalCursor? { cursor(of: Self.replay(of: name)) }

    /// Names of the destinations that have a replay.
    var replays: [String] {
        table.withLock { table in
            table.cursors.keys.filter { $0.hasSuffix(CursorFile.replayMark) }.map {
                String($0.dropLast(CursorFile.replayMark.count))
            }.sorted()
        }
    }

    // MARK: Unverified stores

    private static func unverified(_ name: String) -> String { name + CursorFile.unverifiedMark }

    /// Records that these destinations' stores are not verified since the journal ended at `end`. An earlier record
    /// stays: until the store is verified, its end is the one that counts. It is void if the destination's state has
    /// changed since, because a destination that is not open changes no state: an earlier version, which knows no such
    /// records, has opened it.
    func setUnverified(_ names: some Sequence<String>, since end: UInt64) {
        table.withLock { table in
            for name in names {
                let state = table.cursors[name]?.state ?? []
                if let old = table.cursors[Self.unverified(name)], old.state == state { continue }
                table.cursors[Self.unverified(name)] = JournalCursor(position: end, state: state)
                table.version &+= 1
            }
        }
    }

    /// nil: the destination's store is verified.
    func unverifiedEnd(of name: String) -> UInt64? { cursor(of: Self.unverified(name))?.position }

    /// Removes the record. Returns when that is durable: if it came back after the store has taken later events, these
    /// would count as unknown to the journal. Destinations that are verified at the same time share a write.
    func setVerified(_ name: String) throws(SystemError) {
        let removed = table.withLock { table in
            guard let old = table.cursors.removeValue(forKey: Self.unverified(name)) else {
                return nil as JournalCursor?
            }
            table.version &+= 1
            return old
        }
        guard let removed else { return }
        do throws(SystemError) { try commit() } catch {
            table.withLock { table in
                table.cursors[Self.unverified(name)] = removed
                table.version &+= 1
            }
            throw error
        }
    }

    /// Moves the cursors of lagging destinations up to `position`. Their state is kept.
    /// - Returns: the positions that each of them loses.
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

    /// The maximum number of concurrent readers: each destination has one for delivery and one for a replay.
    var readers: Int { table.withLock { table in 2 * (table.configured?.count ?? 0) } }

    /// The number of positions that `push` took from each destination since the start.
    var dropped: [String: UInt64] { table.withLock { $0.dropped } }

    /// No configured destination needs events below this position, according to the durable cursors; nil until the
    /// destinations are declared.
    var floor: UInt64? {
        table.withLock { table in
            guard let configured = table.configured else { return nil }
            let byDurable = context.protections.contains(.retainByDurableCursors)
            return configured.map { name in
                (byDurable ? table.durable[name] : table.cursors[name]?.position) ?? table.starts[name] ?? 0
            }.min() ?? .max
        }
    }

    /// Returns when every cursor recorded so far and the journal's durable end are durable.
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
