import Delivery

/// Where delivery goes on for a plugin that keeps the position with its data, from what the
/// cursor says (kept by us) and what the plugin says (`penstock.position/1`).
///
/// The two are never exactly in step: the plugin's position moves with every batch, the cursor
/// follows later, and after a restart of the daemon the plugin's is normally ahead. Between the
/// two lie events that the plugin holds, but also such as never reached it and whose dead letters
/// we may not have made durable. So what lies between is routed again, and only what the plugin
/// holds is not shown to it again.
///
/// With the cursor goes what the plugin's position was at that time. A position below that has
/// gone back: the store was restored from a backup, or lost its last writes in a power cut.
struct ResumePoint: Equatable {
    /// Where to read on; nil: at the cursor.
    var start: UInt64?
    /// Events up to here are in the plugin's hands already; nil: none from the start on.
    var heldThrough: UInt64?
    /// The position that the plugin had and has no more.
    var wentBackFrom: UInt64?

    init(cursor: Cursor, durable: UInt64?) {
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

    /// What to keep with the cursor.
    static func state(_ durable: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: durable >> (8 * $0)) }
    }

    private static func position(in state: [UInt8]) -> UInt64? {
        guard state.count == 8 else { return nil }
        return state.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
