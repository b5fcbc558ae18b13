import Events

/// Runs an event through stages. Each stage reads what the previous one wrote. The memory is reused for the next event.
/// One thread.
struct StageRunner {
    enum Outcome: Equatable {
        /// The result is in `texts`: at least one event.
        case done
        case dropped(by: String)
        case rejected(reason: String)
    }

    /// The output of the last stage.
    private(set) var texts = EventTexts()
    private var next = EventTexts()
    private let indexer: EventIndexer

    init(_ indexer: EventIndexer) { self.indexer = indexer }

    static let unreadable = "the event's bytes are not the JSON that was accepted"

    /// - Parameter view: the event before the stages. Its fields may have been read already.
    mutating func run(_ stages: ArraySlice<RouteChain.Stage>, _ view: borrowing EventView) -> Outcome {
        texts.begin(view.suffix)
        next.begin(view.suffix)
        guard let first = stages.first else {
            texts.append(view.json)
            return .done
        }
        if let end = apply(first, view) { return end }
        for stage in stages.dropFirst() {
            swap(&texts, &next)
            texts.removeAll()
            // Moved out of the struct, so that it can be read while `texts` is written.
            var events = EventTexts()
            swap(&events, &next)
            defer { swap(&events, &next) }
            var dropped: Outcome?
            for k in 0..<events.count {
                view.fields.startEvent()
                let memory = events.bytes.span.extracting(events.memory(of: k))
                let view = self.view(memory, length: events.range(of: k).count, of: view)
                switch apply(stage, view) {
                case .rejected(let reason): return .rejected(reason: reason)
                case let end: dropped = dropped ?? end
                }
            }
            if texts.count == 0 { return dropped ?? .done }
        }
        return .done
    }

    /// A view of an event that a stage wrote.
    /// - Parameters:
    ///   - memory: the event's `EventTexts.memory`.
    ///   - length: the number of bytes of the event itself.
    ///   - original: the event before the stage. The fields are the same.
    @_lifetime(copy memory, copy original)
    func view(_ memory: Span<UInt8>, length: Int, of original: borrowing EventView) -> EventView {
        let json = memory.extracting(0..<length)
        let index = indexer.index(of: json, original.fields, kind: original.index.kind)
        return EventView(memory: memory, length: length, index: index, of: original)
    }

    /// - Returns: nil if something was appended to `texts`.
    private mutating func apply(_ stage: RouteChain.Stage, _ view: borrowing EventView) -> Outcome? {
        let count = texts.count
        switch stage {
        case .edits(let edits):
            switch edits.apply(view, messageID: nil, into: &texts.bytes) {
            case .written: texts.finishEvent()
            case .dropped(let name): return .dropped(by: name)
            case .rejected(let reason): return .rejected(reason: reason)
            }
        case .rewrite(let rewrite):
            if case .rejected(let reason) = rewrite.apply(view, into: &texts) { return .rejected(reason: reason) }
            if texts.count == count { return .dropped(by: rewrite.name) }
        }
        return view.fields.isUnreadable ? .rejected(reason: Self.unreadable) : nil
    }
}
