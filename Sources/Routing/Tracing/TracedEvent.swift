import Events

/// An event between two steps of a trace, with everything that filters and transforms read.
struct TracedEvent {
    /// The event's JSON, and the text of `context.penstock`.
    private let memory: [UInt8]
    private let length: Int
    private let origin: OriginValues
    let index: EventIndex
    private let moment: EventMoment

    init(_ json: [UInt8], _ index: EventIndex, from sender: TracedSender, at moment: EventMoment) {
        memory = json + sender.text
        length = json.count
        origin = sender.values
        self.index = index
        self.moment = moment
    }

    /// A view whose fields are not read yet.
    @_lifetime(borrow self, borrow fields)
    func view(_ fields: borrowing EventFields) -> EventView {
        fields.startEvent()
        fields.origin = origin
        return EventView(memory: memory.span, length: length, index: index, fields: fields, moment: moment)
    }
}

/// `context.penstock` of the traced event.
struct TracedSender {
    var text: [UInt8] = []
    var values = OriginValues()
}
