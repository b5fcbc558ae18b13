import Delivery

/// Decides where delivery resumes for a plugin that keeps the position with its data. It compares the host's cursor
/// with the plugin's position (`penstock.position/1`).
///
/// The two are never exactly in step. The plugin's position advances with every batch, and the cursor follows later;
/// after a restart of the daemon the plugin's position is normally ahead. The events between the two include those that
/// the plugin holds, and also those that never reached it and whose dead letters may not be durable. So all of them are
/// routed again, and only those that the plugin holds are not offered again.
///
/// The plugin's position at the time of the cursor is stored with the cursor. A lower position has gone back: the store
/// was restored from a backup, or lost its last writes in a power cut.
///
/// A position that the journal has not reached means the opposite: the journal was restored from a backup, or lost its
/// last writes. The journal gives the positions up to the plugin's to new events, and the plugin would take these for
/// events that it has. So delivery must not resume.
struct ResumePoint: Equatable {
    /// The position to read from; nil: the cursor's.
    var start: UInt64?
    /// The plugin already holds the events up to this position; nil: none after the start.
    var heldThrough: UInt64?
    /// The plugin's earlier position, if it has gone back.
    var wentBackFrom: UInt64?
    /// The plugin's position, if it is ahead of the journal.
    var ahead: UInt64?

    /// - Parameter end: the journal's end, to compare with (`PositionBound.end`).
    init(cursor: Cursor, durable: UInt64?, end: UInt64 = .max) {
        if let durable, durable >= end {
            ahead = durable
            return
        }
        let before = Self.position(in: cursor.state)
        guard let durable else {
            wentBackFrom = before
            return
        }
        if let before, durable < before {
            wentBackFrom = before
            start = min(durable + 1, cursor.position)
        } else if durable >= cursor.position {
            heldThrough = durable
        }
    }

    /// The state to keep with the cursor.
    static func state(_ durable: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: durable >> (8 * $0)) }
    }

    private static func position(in state: [UInt8]) -> UInt64? {
        guard state.count == 8 else { return nil }
        return state.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
