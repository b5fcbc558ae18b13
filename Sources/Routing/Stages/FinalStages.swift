/// The edits behind each route of a destination whose events are written at once. One thread.
@safe struct FinalStages {
    private let stages: [EditStage]
    // Not counted, because one of them is used for each event. `stages` keeps them alive.
    private let uncounted: [Unmanaged<EditStage>]

    init(_ stages: [EditStage]) {
        self.stages = stages
        unsafe uncounted = stages.map { unsafe .passUnretained($0) }
    }

    /// Appends the event with the edits behind a route to `output` (`EditStage`).
    @inline(__always)
    func apply(
        _ route: Int, _ view: borrowing EventView, messageID: @autoclosure () -> String?, into output: inout [UInt8]
    ) -> EditStage.Outcome {
        unsafe uncounted[route]._withUnsafeGuaranteedRef {
            $0.apply(view, messageID: messageID(), into: &output)
        }
    }
}
