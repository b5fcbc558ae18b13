/// What is known of the tables with which a segment begins: one batch of lanes, or one and a batch of marks.
struct SegmentStart {
    /// Where the batch of marks must lie; nil: there is none, or it was found.
    private var marks: Int?

    /// - Parameter first: the header of the whole batch at the beginning of the segment.
    init(_ first: BatchHeader) {
        let hasMarks = first.kind == BatchHeader.Kind.lanes && first.flags & LaneEntry.marksFlag != 0
        marks = hasMarks ? first.totalSize : nil
    }

    var isWhole: Bool { marks == nil }

    /// Notes another whole batch.
    mutating func note(_ header: BatchHeader, at offset: Int) {
        if offset == marks, header.kind == BatchHeader.Kind.marks { marks = nil }
    }
}
