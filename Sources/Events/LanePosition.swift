/// Where a source reads on in one of its lanes: a partition, a file, a stream. It is stored with the events before it,
/// in one commit of the journal.
package struct LanePosition: Sendable, Hashable {
    /// The maximum of bytes in a lane's name, and in a position.
    package static let limit = 64

    /// The lane's name: 1 to 64 bytes.
    package var lane: String
    /// Up to 64 bytes that only the source understands; empty: the lane is forgotten.
    package var position: [UInt8]
    /// The last of the events before, if they come from another journal. Stored with them, and never forgotten with
    /// the lane.
    package var mark: OriginMark?
    /// What the host that received the events before told about them. Stored with them; nothing of the lane.
    package var receipt: EarlierReceipt?

    package init(lane: String, position: [UInt8], mark: OriginMark? = nil, receipt: EarlierReceipt? = nil) {
        self.lane = lane
        self.position = position
        self.mark = mark
        self.receipt = receipt
    }
}
