import Events

/// `unnest: properties.products`: makes an event of each item of a list. In each of these events, the item takes the
/// list's place. An event without the list, or with an empty one, is unchanged.
///
/// Their message ids end with the list's path and a number: `m:properties.products:1`. Without the path, the ids of two
/// lists of the same event could be equal.
struct UnnestTransform: RewritingTransform {
    static let declaration = TransformDeclaration.keys(
        "unnest", UnnestTransform(), shorthand: "list",
        [
            Setting("list", \.list, .path, required: true, "the list"),
            Setting("keep", \.keep, .flag, "whether the event itself is kept, before the events of the items"),
            Setting("event", \.event, .text("a name"), "the name of the events of the items, for track events"),
            Setting(
                "output", \.output, .size((1 << 10)...(64 << 20), show: "1MiB"),
                "maximum total size of the events that one event becomes"),
        ],
        example: "unnest: { list: properties.products, keep: true, event: Product Purchased }",
        "makes an event of each item of a list")

    /// Required. This placeholder is used only after the missing setting has been reported.
    var list = FieldPath(["properties", "products"])
    var keep = false
    var event: String?
    var output = 1 << 20

    func check() -> [TransformError] {
        PathRules.problem(writing: list).map { [TransformError(["list"], $0)] } ?? []
    }

    func makeRewriter(_ table: inout PathTable, _ surroundings: StageSurroundings) -> any EventRewriter {
        UnnestRewriter(self, list: table.index(of: list))
    }
}

private final class UnnestRewriter: EventRewriter {
    private let transform: UnnestTransform
    private let list: Int
    /// The contents of a JSON string.
    private let name: [UInt8]?
    /// `:properties.products:`, as contents of a JSON string.
    private let idSuffix: [UInt8]

    init(_ transform: UnnestTransform, list: Int) {
        self.transform = transform
        self.list = list
        name = transform.event.map { name in
            var contents: [UInt8] = []
            JSONText.appendContents(name.utf8.span, to: &contents)
            return contents
        }
        var suffix = Array(":".utf8)
        JSONText.appendContents("\(transform.list)".utf8.span, to: &suffix)
        idSuffix = suffix + ":".utf8
    }

    func rewrite(_ view: borrowing EventView, into output: inout EventTexts) -> RewriteOutcome {
        let value = view.value(list)
        guard value.type == .array, let place = value.json else { return .unchanged }
        var items = ListCursor(place)
        guard var item = items.next(in: view.json)?.json else { return .unchanged }
        let start = output.bytes.count
        if transform.keep { output.append(view.json) }
        var number = 1
        while true {
            append(number, view, list: place, item: item, to: &output.bytes)
            // Each event has all the rest of the original one, so a long list makes many large events.
            let isTooMuch = output.bytes.count - start > transform.output
            output.finishEvent()
            if isTooMuch {
                return .reject(
                    "the events of the list \"\(transform.list)\" have more than \(transform.output) bytes"
                        + " (unnest.output)")
            }
            guard let next = items.next(in: view.json)?.json else { return .rewritten }
            item = next
            number += 1
        }
    }

    /// Appends the event with other bytes for the list, the message id and the name.
    private func append(
        _ number: Int, _ view: borrowing EventView, list: Range<Int>, item: Range<Int>, to output: inout [UInt8]
    ) {
        let json = view.json
        let id = view.index.messageID.isPresent ? view.index.messageID.range.upperBound : nil
        let name =
            view.index.kind == .track && self.name != nil && view.index.event.isPresent
            ? view.index.event.range : nil
        // In the order of the event's bytes.
        var changes = [list.lowerBound]
        if let id { changes.append(id) }
        if let name { changes.append(name.lowerBound) }
        changes.sort()
        var copied = 0
        for place in changes {
            output.append(contentsOf: json.extracting(copied..<place))
            copied = place
            if place == id {
                output.append(contentsOf: idSuffix)
                output.append(contentsOf: "\(number)".utf8)
            } else if place == name?.lowerBound, let contents = self.name {
                output.append(contentsOf: contents)
                copied = name?.upperBound ?? copied
            } else {
                output.append(contentsOf: json.extracting(item))
                copied = list.upperBound
            }
        }
        output.append(contentsOf: json.extracting(copied..<json.count))
    }
}
