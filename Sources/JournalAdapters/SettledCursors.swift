import Delivery
import Journal

// The settled positions of a passage are stored in the journal as a live cursor.
extension JournalCursors {
    package func settle(_ destination: String, _ passage: Passage, _ settled: SettledPositions) {
        let (kind, tag) = passage.kept
        journal.settle(destination, LiveCursor(kind, tag: tag, position: settled.position, settled: settled.ranges))
    }

    package func settled(of destination: String, _ passage: Passage) -> SettledPositions? {
        let (kind, tag) = passage.kept
        return journal.live(of: destination, kind, tag: tag).map {
            SettledPositions(position: $0.position, ranges: $0.settled)
        }
    }
}

extension Passage {
    /// The tag must differ from the tags of all other replays or retries of the same destination, past and future.
    fileprivate var kept: (kind: LiveCursor.Kind, tag: UInt64) {
        switch self {
        case .delivery: (.delivery, 0)
        case .replay(let id): (.replay, Tag.of(id))
        case .retry(let tag): (.retry, tag)
        }
    }
}

/// A 64-bit number (FNV-1a) that almost always differs for different texts.
enum Tag {
    static func of(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
