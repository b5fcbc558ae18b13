import Delivery
import Journal

/// The journal's ends, as one destination compares its store with them.
package struct JournalBound: PositionBound {
    private let source: Journal
    private let destination: String

    package init(journal: Journal, destination: String) {
        source = journal
        self.destination = destination
    }

    package var journal: [UInt8] { source.uuid.bytes }

    package var now: UInt64 { source.durableEnd }

    package var end: UInt64 { source.unverifiedEnd(of: destination) ?? source.durableEnd }

    package func verify() throws { try source.setVerified(destination) }

    package func refuse(at end: UInt64) throws {
        source.setUnverified([destination], since: end)
        try source.commit()
    }
}
