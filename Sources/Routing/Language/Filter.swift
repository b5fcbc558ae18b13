import Events

/// A valid filter, as an operator wrote it. Immutable; any thread. A `DestinationRouter` compiles it together with the
/// destination's other filters; a `FilterMatcher` runs it alone.
package struct Filter: Sendable, Equatable {
    /// The text as written.
    package let source: String
    let expression: Expression

    /// Matches every event.
    package static let always = Filter(source: "true", expression: .bool(true))

    /// - Throws: the fault and its column. Any text is safe to parse.
    package init(parsing text: String) throws(FilterError) {
        self.init(source: text, expression: try FilterParser.parse(text))
    }

    private init(source: String, expression: Expression) {
        self.source = source
        self.expression = expression
    }

    /// Two filters are equal if their texts are equal.
    package static func == (left: Filter, right: Filter) -> Bool { left.source == right.source }
}

/// One compiled filter. One thread at a time.
package final class FilterMatcher {
    private let program: FilterProgram
    private let fields: EventFields
    private var originText: OriginText

    /// - Parameters:
    ///   - isReplay: the value of `context.penstock.replay`.
    ///   - host: the name of this machine, for `context.penstock.host`.
    ///   - userNames: for `context.penstock.peer.user`.
    package init(
        _ filter: Filter, isReplay: Bool = false, host: String = "", userNames: @escaping UserNames = { _ in nil }
    ) {
        originText = OriginText(isReplay: isReplay, host: host, userName: userNames)
        var table = PathTable()
        program = FilterCompiler.compile(filter.expression, &table)
        fields = EventFields(table)
    }

    /// - Parameters:
    ///   - json: the event's bytes, which were validated before.
    ///   - index: its index.
    ///   - origin: its sender; nil: not known.
    package func matches(_ json: Span<UInt8>, _ index: EventIndex, from origin: Origin?) -> Bool {
        let fields = fields
        fields.startEvent()
        if fields.readsOrigin {
            var memory = [UInt8](copying: json)
            fields.origin = originText.append(origin, to: &memory)
            let view = EventView(
                memory: memory.span, length: json.count, index: index, fields: fields, moment: EventMoment())
            return program.matches(view) && !fields.isUnreadable
        }
        return program.matches(EventView(json: json, index: index, fields: fields)) && !fields.isUnreadable
    }
}
