import Events

/// Edits laid over one event's bytes. Transforms set, remove and rename fields; then the event is
/// written out once, copied in pieces around what has changed. No tree of the event is ever built.
///
/// Invariant: no path with an edit lies inside another one with an edit (`RouteChain` sees to it),
/// and no field of an edit stands in the event twice (`RouteStage` sees to that).
/// Its memory is kept from event to event.
struct Overlay {
    private struct Edit: BitwiseCopyable {
        enum Kind: UInt8, BitwiseCopyable { case none, value, removed, renamed }
        var kind: Kind
        /// In `text`: the new value's JSON, or the new name as a JSON string.
        var text: Slice

        static let none = Edit(kind: .none, text: .absent)
    }

    /// A place in the event where `removed` bytes make way for a piece of `text`.
    private struct Splice: BitwiseCopyable {
        var offset: Int
        var removed: Int
        var text: Slice
    }

    let tree: EditTree
    /// By node.
    private var edits: [Edit]
    private var text: [UInt8] = []
    /// In the order of the event's bytes, once collected.
    private var splices: [Splice] = []
    /// Members to be removed of the objects that are being collected, the innermost one's last.
    private var removals: [Range<Int>] = []
    /// The node of `messageId`, and where its new value ended up in `text`.
    private let messageIDNode: Int
    private var writtenMessageID = Slice.absent
    private(set) var hasEdits = false

    init(_ tree: EditTree, messageIDNode: Int) {
        self.tree = tree
        self.messageIDNode = messageIDNode
        edits = [Edit](repeating: .none, count: tree.nodes.count)
    }

    /// Forgets the edits of the event before.
    mutating func startEvent() {
        if hasEdits { for i in edits.indices { edits[i] = .none } }
        text.removeAll(keepingCapacity: true)
        splices.removeAll(keepingCapacity: true)
        removals.removeAll(keepingCapacity: true)
        writtenMessageID = .absent
        hasEdits = false
    }

    // MARK: Edits

    /// Gives a field the value that `writer` makes, if it makes one.
    mutating func set(_ node: Int, _ writer: ValueWriter, _ view: borrowing EventView) {
        let start = text.count
        if writer.write(view, to: &text) { set(node, textFrom: start) }
    }

    /// Gives a field a value: JSON that `write` appends.
    @inline(__always)
    mutating func set(_ node: Int, write: (inout [UInt8]) -> Void) {
        let start = text.count
        write(&text)
        set(node, textFrom: start)
    }

    /// The same, if `write` says that it has appended a value.
    @inline(__always)
    mutating func setIfWritten(_ node: Int, write: (inout [UInt8]) -> Bool) {
        let start = text.count
        if write(&text) { set(node, textFrom: start) }
    }

    /// Gives a field a value.
    mutating func set(_ node: Int, json: Span<UInt8>) {
        let start = text.count
        text.append(contentsOf: json)
        set(node, textFrom: start)
    }

    private mutating func set(_ node: Int, textFrom start: Int) {
        note(node, .value, textFrom: start)
    }

    /// Removes a field that the event has.
    mutating func remove(_ node: Int) { note(node, .removed, textFrom: text.count) }

    /// Gives a field that the event has another name, which is that of another node beside it. One that
    /// had this name before gives way.
    mutating func rename(_ node: Int, to other: Int, _ view: borrowing EventView) {
        let start = text.count
        text.append(contentsOf: tree.nodes[other].key.dropLast())
        note(node, .renamed, textFrom: start)
        if view.value(tree.nodes[other].path).type != .missing { remove(other) }
    }

    private mutating func note(_ node: Int, _ kind: Edit.Kind, textFrom start: Int) {
        edits[node] = Edit(kind: kind, text: Slice(offset: UInt32(start), length: UInt32(text.count - start)))
        hasEdits = true
    }

    /// Gives the event a message id, unless a transform gave it one.
    mutating func addMessageID(_ id: String) {
        guard edits[messageIDNode].kind != .value else { return }
        set(messageIDNode) { JSONValue.append(id, to: &$0) }
    }

    // MARK: Writing

    /// Appends the edited event to `output`.
    /// - Returns: where the contents of its message id lie in `output`; empty if it has none that is
    ///   a string.
    /// - Throws: an edit that cannot be made; nothing has been appended then.
    mutating func render(_ view: borrowing EventView, into output: inout [UInt8]) throws(EditError) -> Range<Int> {
        if hasEdits {
            try collect(EditTree.root, object: 0..<view.json.count, view)
            splices.sort { $0.offset < $1.offset }
        }

        let messageID = view.index.messageID
        var place = output.count..<output.count
        var copied = 0
        func copy(upTo end: Int, into output: inout [UInt8]) {
            if messageID.isPresent, !writtenMessageID.isPresent, messageID.range.lowerBound >= copied,
                messageID.range.upperBound <= end
            {
                let start = output.count + messageID.range.lowerBound - copied
                place = start..<start + Int(messageID.length)
            }
            output.append(contentsOf: view.json.extracting(copied..<end))
        }
        for splice in splices {
            copy(upTo: splice.offset, into: &output)
            if writtenMessageID.isPresent, splice.text.isPresent,
                splice.text.range.contains(writtenMessageID.range.lowerBound)
            {
                let start = output.count + Int(writtenMessageID.offset) - Int(splice.text.offset)
                place = contents(of: writtenMessageID.range, at: start)
            }
            if splice.text.isPresent { output.append(contentsOf: text.span.extracting(splice.text.range)) }
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
        if edits[node].kind != .none { return true }
        // A loop: a closure would hold a copy of all of this.
        for child in tree.nodes[node].children where hasEdits(child) { return true }
        return false
    }

    /// What changes inside an object (or list) that the event has.
    private mutating func collect(_ node: Int, object: Range<Int>, _ view: borrowing EventView) throws(EditError) {
        let removalsBefore = removals.count
        for child in tree.nodes[node].children {
            let value = view.value(tree.nodes[child].path)
            guard let range = value.json else { continue }
            let edit = edits[child]
            switch edit.kind {
            case .value:
                if child == messageIDNode { writtenMessageID = edit.text }
                splices.append(Splice(offset: range.lowerBound, removed: range.count, text: edit.text))
            case .removed:
                removals.append(JSONMembers.start(ofMemberAt: range.lowerBound, in: object, view.json)..<range.upperBound)
            case .renamed:
                guard view.json[object.lowerBound] == UInt8(ascii: "{") else {
                    throw EditError(self, child, .itemWithoutName)
                }
                let key = JSONMembers.key(ofMemberAt: range.lowerBound, view.json)
                splices.append(Splice(offset: key.lowerBound, removed: key.count, text: edit.text))
            case .none where hasEdits(child):
                switch value.type {
                case .object, .array: try collect(child, object: range, view)
                case .null:
                    let made = build(child)
                    splices.append(Splice(offset: range.lowerBound, removed: range.count, text: made))
                case .missing, .true, .false, .number, .string, .escapedString:
                    throw EditError(self, child, .notAnObject)
                }
            case .none: continue
            }
        }
        let isEmpty = remove(removals.count - removalsBefore, from: object, view.json)
        try insert(into: node, object, isEmpty: isEmpty, view)
    }

    /// Takes the last `count` of `removals` out of their object.
    /// - Returns: whether nothing is left in it.
    private mutating func remove(_ count: Int, from object: Range<Int>, _ json: Span<UInt8>) -> Bool {
        guard count > 0 else { return JSONMembers.isEmpty(object, json) }
        let first = removals.count - count
        removals[first...].sort { $0.lowerBound < $1.lowerBound }
        var isEmpty = false
        var k = first
        while k < removals.count {
            // As many as stand side by side.
            var run = removals[k]
            var comma = JSONMembers.comma(after: run.upperBound, json)
            k += 1
            while let behind = comma, k < removals.count,
                JSONMembers.skipSpace(behind + 1, json) == removals[k].lowerBound
            {
                run = run.lowerBound..<removals[k].upperBound
                comma = JSONMembers.comma(after: run.upperBound, json)
                k += 1
            }
            // With the comma behind them, or, at the object's end, the one before them.
            if let comma {
                run = run.lowerBound..<JSONMembers.skipSpace(comma + 1, json)
            } else if let before = JSONMembers.comma(before: run.lowerBound, json) {
                run = before..<run.upperBound
            } else {
                isEmpty = true
            }
            splices.append(Splice(offset: run.lowerBound, removed: run.count, text: .absent))
        }
        removals.removeLast(count)
        return isEmpty
    }

    /// Adds the members that an object does not have yet, behind its last one.
    private mutating func insert(
        into node: Int, _ object: Range<Int>, isEmpty: Bool, _ view: borrowing EventView
    ) throws(EditError) {
        let start = text.count
        var isEmpty = isEmpty
        for child in tree.nodes[node].children {
            guard view.value(tree.nodes[child].path).type == .missing, hasEdits(child) else { continue }
            guard view.json[object.lowerBound] == UInt8(ascii: "{") else {
                throw EditError(self, child, .noSuchItem)
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
        if edits[node].kind == .value {
            text.append(copyOf: edits[node].text.range)
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

    /// The transform whose edit at or below a node cannot be made.
    fileprivate func culprit(_ node: Int) -> String {
        if edits[node].kind != .none { return tree.nodes[node].owner }
        for child in tree.nodes[node].children where hasEdits(child) { return culprit(child) }
        return tree.nodes[node].owner
    }
}

/// Why an edit cannot be made in one event.
struct EditError: Error, Equatable, CustomStringConvertible {
    enum Problem { case notAnObject, noSuchItem, itemWithoutName }
    var transform: String
    var path: String
    var problem: Problem

    fileprivate init(_ overlay: borrowing Overlay, _ node: Int, _ problem: Problem) {
        transform = overlay.culprit(node)
        path = overlay.tree.nodes[node].name
        self.problem = problem
    }

    var description: String {
        switch problem {
        case .notAnObject: "\(transform): \(path) is not an object, so nothing can be set inside it"
        case .noSuchItem: "\(transform): \(path) does not exist, and a list gets no new items"
        case .itemWithoutName: "\(transform): \(path) is an item of a list, which has no name to change"
        }
    }
}
