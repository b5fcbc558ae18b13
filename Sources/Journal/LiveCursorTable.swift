import Platform
import Synchronization

/// All live cursors: in memory, in `cursors.live` and, with the next commit of events, in the segments. Any thread.
final class LiveCursorTable: Sendable {
    private struct State {
        var cursors: [LiveCursorKey: LiveCursor] = [:]
        var slots: [LiveCursorKey: Int] = [:]
        /// Not in a batch of cursors yet.
        var changed: Set<LiveCursorKey> = []
        var file: LiveCursorFile
    }

    private let state: Mutex<State>
    private let hasChanges = Atomic(false)

    /// - Parameters:
    ///   - found: in the segments.
    ///   - end: the position of the next event. What a cursor says of events above it is about events that are gone. Those
    ///     below are the ones that it was kept of: no position is given again before the file is rewritten.
    init(_ site: JournalSite, found: FoundLiveCursors, end: UInt64) throws(JournalError) {
        var file = LiveCursorFile(site)
        var cursors: [LiveCursorKey: LiveCursor] = [:]
        do throws(SystemError) {
            var found = found
            found.add(try LiveCursorFile.read(site))
            for (key, cursor) in found.cursors {
                cursors[key] = site.protections.contains(.liveBelowEnd) ? cursor.clipped(to: end) : cursor
            }
            try file.begin(cursors.sorted { Self.precedes($0.key, $1.key) }.map { ($0.key, $0.value) })
        } catch {
            throw JournalError("read the live cursors", error)
        }
        var state = State(cursors: cursors, file: file)
        for (slot, entry) in cursors.sorted(by: { Self.precedes($0.key, $1.key) }).enumerated() { state.slots[entry.key] = slot }
        self.state = Mutex(state)
    }

    private static func precedes(_ one: LiveCursorKey, _ other: LiveCursorKey) -> Bool {
        (one.destination, one.kind.rawValue) < (other.destination, other.kind.rawValue)
    }

    /// Of delivery to a destination; nil: there is none.
    func position(of name: String) -> UInt64? {
        state.withLock { $0.cursors[LiveCursorKey(name, .delivery)]?.position }
    }

    /// nil: there is none of this passage.
    func cursor(of name: String, _ kind: LiveCursor.Kind, tag: UInt64) -> LiveCursor? {
        state.withLock { $0.cursors[LiveCursorKey(name, kind)] }.flatMap { $0.tag == tag ? $0 : nil }
    }

    func set(_ name: String, _ cursor: LiveCursor) {
        state.withLock { state in
            let key = LiveCursorKey(name, cursor.kind)
            guard state.cursors[key] != cursor else { return }
            let slot = state.slots[key] ?? state.slots.count
            state.slots[key] = slot
            state.cursors[key] = cursor
            state.changed.insert(key)
            state.file.write(key, cursor, slot: slot)
            hasChanges.store(true, ordering: .releasing)
        }
    }

    /// What a batch of cursors is to hold: those that changed since the last one, or, at the beginning of a segment,
    /// all of them. nil: nothing has changed.
    /// - Parameter limit: bytes that it may take; what does not fit comes with a later one.
    func takeChanges(all: Bool, limit: Int) -> [UInt8]? {
        guard hasChanges.load(ordering: .acquiring) || all else { return nil }
        return state.withLock { state in
            if all { state.changed = Set(state.cursors.keys) }
            var payload: [UInt8] = []
            for key in state.changed.sorted(by: Self.precedes) {
                guard let cursor = state.cursors[key] else { continue }
                let size = LiveCursorEntry.headerSize + 8 * min(cursor.settled.count, LiveCursor.rangeLimit)
                guard payload.count + size <= limit else { break }
                LiveCursorEntry.append(key, cursor, to: &payload)
                state.changed.remove(key)
            }
            hasChanges.store(!state.changed.isEmpty, ordering: .relaxed)
            return payload.isEmpty ? nil : payload
        }
    }
}
