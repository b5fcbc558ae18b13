import Events

/// Edits laid over one event's bytes. Transforms put new values in; then the event is written out
/// once, copied in pieces around what has changed. No tree of the event is ever built.
///
/// Invariant: no path with an edit lies inside another one with an edit (`RouteChain` sees to it).
/// Its memory is kept from event to event.
struct Overlay {
    /// A place in the event where `removed` bytes make way for a piece of `text`.
    private struct Splice: BitwiseCopyable {
        var offset: Int
        var removed: Int
        var text: Slice
    }

    let tree: EditTree
    /// By node: its new value's JSON within `text`, or absent.
    private var edits: [Slice]
    private var text: [UInt8] = []
    /// In the order of the event's bytes, once collected.
    private var splices: [Splice] = []
    /// The node of `messageId`, and where its new value ended up in `text`.
    private let messageIDNode: Int
    private var writtenMessageID = Slice.absent

    init(_ tree: EditTree, messageIDNode: Int) {
        self.tree = tree
        self.messageIDNode = messageIDNode
        edits = [Slice](repeating: .absent, count: tree.nodes.count)
    }

    /// Forgets the edits of the event before.
    mutating func startEvent() {
        for i in edits.indices { edits[i] = .absent }
        text.removeAll(keepingCapacity: true)
        splices.removeAll(keepingCapacity: true)
        writtenMessageID = .absent
    }

    /// Gives a field the value that `writer` makes, if it makes one.
    mutating func set(_ node: Int, _ writer: ValueWriter, _ view: borrowing EventView) {
        let start = text.count
        if writer.write(view, to: &text) {
            edits[node] = Slice(offset: UInt32(start), length: UInt32(text.count - start))
        }
    }

    /// Gives the event a message id, unless a transform gave it one.
    mutating func addMessageID(_ id: String) {
        guard !edits[messageIDNode].isPresent else { return }
        let start = text.count
        JSONValue.append(id, to: &text)
        edits[messageIDNode] = Slice(offset: UInt32(start), length: UInt32(text.count - start))
    }

    /// Appends the edited event to `output`.
    /// - Returns: where the contents of its message id lie in `output`; empty if it has none that is
    ///   a string.
    /// - Throws: an edit that cannot be made; nothing has been appended then.
    mutating func render(_ view: borrowing EventView, into output: inout [UInt8]) throws(EditError) -> Range<Int> {
        try collect(EditTree.root, object: 0..<view.json.count, view)
        splices.sort { $0.offset < $1.offset }

        let messageID = view.index.messageID
        var place = output.count..<output.count
        var copied = 0
        func copy(upTo end: Int, into output: inout [UInt8]) {
            if messageID.isPresent, !writtenMessageID.isPresent, messageID.range.lowerBound >= copied, messageID.range.upperBound <= end {
                let start = output.count + messageID.range.lowerBound - copied
                place = start..<start + Int(messageID.length)
            }
            output.append(contentsOf: view.json.extracting(copied..<end))
        }
        for splice in splices {
            copy(upTo: splice.offset, into: &output)
            if writtenMessageID.isPresent, splice.text.range.contains(writtenMessageID.range.lowerBound) {
                let start = output.count + Int(writtenMessageID.offset) - Int(splice.text.offset)
                place = contents(of: writtenMessageID.range, at: start)
            }
            output.append(contentsOf: text.span.extracting(splice.text.range))
            copied = splice.offset + splice.removed
        }
        copy(upTo: view.json.count, into: &output)
        return place
    }

    /// The inside of a string that stands at `start` of the output.
    private func contents(of value: Range<Int>, at start: Int) -> Range<Int> {
        guard value.count >= 2, text[value.lowerBound] == UInt8(ascii: "\"") else { return start..<start }
        return start + 1..<start + value.count - 1
    }

    // MARK: Splices

    private func hasEdits(_ node: Int) -> Bool {
        edits[node].isPresent || tree.nodes[node].children.contains(where: hasEdits)
    }

    /// What changes inside an object (or list) that the event has.
    private mutating func collect(_ node: Int, object: Range<Int>, _ view: borrowing EventView) throws(EditError) {
        for child in tree.nodes[node].children {
            let value = view.value(tree.nodes[child].path)
            guard let range = value.json, hasEdits(child) else { continue }
            if edits[child].isPresent {
                if child == messageIDNode { writtenMessageID = edits[child] }
                splices.append(Splice(offset: range.lowerBound, removed: range.count, text: edits[child]))
                continue
            }
            switch value.type {
            case .object, .array: try collect(child, object: range, view)
            case .null:
                let start = text.count
                _ = build(child)
                splices.append(
                    Splice(
                        offset: range.lowerBound, removed: range.count,
                        text: Slice(offset: UInt32(start), length: UInt32(text.count - start))))
            case .missing, .true, .false, .number, .string, .escapedString:
                throw EditError(path: tree.nodes[child].name, problem: .notAnObject)
            }
        }
        try insert(into: node, object, view)
    }

    /// Adds the members that an object does not have yet, behind its last one.
    private mutating func insert(into node: Int, _ object: Range<Int>, _ view: borrowing EventView) throws(EditError) {
        let start = text.count
        var isEmpty = Self.isEmpty(object, view.json)
        for child in tree.nodes[node].children {
            guard view.value(tree.nodes[child].path).type == .missing, hasEdits(child) else { continue }
            guard view.json[object.lowerBound] == UInt8(ascii: "{") else {
                throw EditError(path: tree.nodes[child].name, problem: .noSuchItem)
            }
            if !isEmpty { text.append(UInt8(ascii: ",")) }
            isEmpty = false
            text.append(contentsOf: tree.nodes[child].key)
            let value = build(child)
            if child == messageIDNode { writtenMessageID = value }
        }
        guard text.count > start else { return }
        splices.append(
            Splice(
                offset: object.upperBound - 1, removed: 0,
                text: Slice(offset: UInt32(start), length: UInt32(text.count - start))))
    }

    /// Writes the value of a node that the event does not have.
    private mutating func build(_ node: Int) -> Slice {
        let start = text.count
        if edits[node].isPresent {
            text.append(copyOf: edits[node].range)
        } else {
            var separator = UInt8(ascii: "{")
            for child in tree.nodes[node].children where hasEdits(child) {
                text.append(separator)
                separator = UInt8(ascii: ",")
                text.append(contentsOf: tree.nodes[child].key)
                _ = build(child)
            }
            text.append(UInt8(ascii: "}"))
        }
        return Slice(offset: UInt32(start), length: UInt32(text.count - start))
    }

    private static func isEmpty(_ object: Range<Int>, _ json: Span<UInt8>) -> Bool {
        var last = object.upperBound - 2
        while last > object.lowerBound, json[last] <= 0x20 { last -= 1 }
        return last == object.lowerBound
    }
}

/// Why an edit cannot be made in one event.
struct EditError: Error, Equatable, CustomStringConvertible {
    enum Problem { case notAnObject, noSuchItem }
    var path: String
    var problem: Problem

    var description: String {
        switch problem {
        case .notAnObject: "set: \(path) is not an object, so nothing can be set inside it"
        case .noSuchItem: "set: \(path) does not exist, and a list gets no new items"
        }
    }
}
