import Events

/// A filter as an operator wrote it, found valid. Immutable; any thread. To run it, a destination
/// compiles it together with its other filters (`DestinationRouter`), and who has only the one
/// uses a `FilterMatcher`.
package struct Filter: Sendable, Equatable {
    /// As written.
    package let source: String
    let expression: Expression

    /// Takes every event.
    package static let always = Filter(source: "true", expression: .bool(true))

    /// - Throws: what is wrong, at its column; never anything worse, whatever the text is.
    package init(parsing text: String) throws(FilterError) {
        self.init(source: text, expression: try FilterParser.parse(text))
    }

    private init(source: String, expression: Expression) {
        self.source = source
        self.expression = expression
    }

    /// Two filters are equal if they were written alike.
    package static func == (left: Filter, right: Filter) -> Bool { left.source == right.source }
}

/// One filter, ready to be asked about events. One thread at a time.
package final class FilterMatcher {
    private let program: FilterProgram
    private let fields: EventFields

    package init(_ filter: Filter) {
        var table = PathTable()
        program = FilterCompiler.compile(filter.expression, &table)
        fields = EventFields(table)
    }

    /// - Parameters:
    ///   - json: the event's bytes, validated before.
    ///   - index: its index.
    package func matches(_ json: Span<UInt8>, _ index: EventIndex) -> Bool {
        fields.startEvent()
        return program.matches(EventView(json: json, index: index, fields: fields)) && !fields.isUnreadable
    }
}
