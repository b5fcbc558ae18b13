import Platform
import Synchronization

/// All live cursors: in memory, in `cursors.live.N` and, after the next commit of events, in the segments. Any thread.
final class LiveCursorTable: Sendable {
    private struct State {
        var cursors: [LiveCursorKey: LiveCursor] = [:]
        var slots: [LiveCursorKey: Int] = [:]
        /// Cursors that changed since they were last in a batch of live cursors.
        var changed: Set<LiveCursorKey> = []
        var file: LiveCursorFile
    }

    private let state: Mutex<State>
    private let hasChanges = Atomic(false)

    /// - Parameters:
    ///   - found: the cursors from the segments.
    ///   - end: the position of the next event. Cursors are clipped to it, because the events above it are lost.
    ///     Positions below it still mean the same events: no position is assigned again before the file is rewritten.
    ///   - names: the files in the journal's directory.
    init(
        _ context: JournalContext, found: FoundLiveCursors, end: UInt64, names: [String]
    ) throws(JournalError) {
        var file = LiveCursorFile(context, names: names)
        var cursors: [LiveCursorKey: LiveCursor] = [:]
        do throws(SystemError) {
            var found = found
            found.add(try file.read())
            for (key, cursor) in found.cursors {
                cursors[key] = context.protections.contains(.liveBelowEnd) ? cursor.clipped(to: end) : cursor
            }
            try file.begin(cursors.sorted { Self.precedes($0.key, $1.key) }.map { ($0.key, $0.value) })
        } catch {
            throw JournalError("read the live cursors", error)
        }
        var state = State(cursors: cursors, file: file)
        for (slot, entry) in cursors.sorted(by: { Self.precedes($0.key, $1.key) }).enumerated() {
            state.slots[entry.key] = slot
        }
        self.state = Mutex(state)
    }

    private static func precedes(_ one: LiveCursorKey, _ other: LiveCursorKey) -> Bool {
        (one.destination, one.kind.rawValue) < (other.destination, other.kind.rawValue)
    }

    /// The position of the delivery to a destination; nil if no live cursor is recorded.
    func position(of name: String) -> UInt64? {
        state.withLock { $0.cursors[LiveCursorKey(name, .delivery)]?.position }
    }

    /// nil if no live cursor of this passage is recorded.
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

    /// The payload of a batch of live cursors: the cursors that changed since the last batch, or all of them at the
    /// beginning of a segment; nil if none has changed.
    /// - Parameter limit: the maximum of bytes; cursors that do not fit are left for a later batch.
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
