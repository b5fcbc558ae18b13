import Events

/// Edits laid over the bytes of one event. Transforms set, remove, rename and rewrite fields. Then the event is written
/// once, copied in pieces around the changes. No tree of the event is built.
///
/// Invariants:
/// - No edit lies inside a field that has its own edit (`RouteChain` ensures it), and no edited field has a
///   duplicate in the event (`EditStage` ensures it).
/// - A noted edit can be made. This is checked when the edit is noted, so that the event has the same fate as if each
///   transform had written it.
///
/// The memory is reused for the next event.
struct Overlay {
    /// The edit of one field. A renamed field may have a new value as well.
    private struct Edit: BitwiseCopyable {
        var isRemoved = false
        /// A field inside it was edited.
        var isAbove = false
        /// The number of the first edit of it or of a field inside it, in the order of the event's edits.
        var order = 0
        /// The JSON of the new value, in `text`.
        var value = Slice.absent
        /// The new name as a JSON string, in `text`.
        var name = Slice.absent
        /// The field that was renamed to this one's name.
        var holder = EditTree.none
    }

    let tree: EditTree
    /// By node.
    private var edits: [Edit]
    private var text: [UInt8] = []
    private var splices = Splices()
    /// Ranges of members to remove from the objects that are being collected. Those of the innermost object are last.
    private var removals: [Range<Int>] = []
    /// Nodes of members to add to these objects, in the same order.
    private var additions: [Int] = []
    /// A buffer for a field's value as the edits so far make it.
    private var present: [UInt8] = []
    private let messageIDNode: Int
    private var editCount = 0
    private var failed: (node: Int, problem: Problem)?

    init(_ tree: EditTree, messageIDNode: Int) {
        self.tree = tree
        self.messageIDNode = messageIDNode
        edits = [Edit](repeating: Edit(), count: tree.nodes.count)
    }

    /// Discards the edits of the previous event.
    mutating func startEvent() {
        if hasEdits { for i in edits.indices { edits[i] = Edit() } }
        text.removeAll(keepingCapacity: true)
        editCount = 0
        failed = nil
    }

    var hasEdits: Bool { editCount > 0 }

    // MARK: Edits

    /// Sets a field to the value that `writer` writes, if it writes one.
    mutating func set(_ node: Int, _ writer: ValueWriter, _ view: borrowing EventView) {
        let start = text.count
        if writer.write(view, to: &text) { set(node, textFrom: start, view) }
    }

    /// Sets a field to the JSON that `write` appends.
    @inline(__always)
    mutating func set(_ node: Int, _ view: borrowing EventView, write: (inout [UInt8]) -> Void) {
        let start = text.count
        write(&text)
        set(node, textFrom: start, view)
    }

    /// Sets a field to a value.
    mutating func set(_ node: Int, json: Span<UInt8>, _ view: borrowing EventView) {
        let start = text.count
        text.append(contentsOf: json)
        set(node, textFrom: start, view)
    }

    private mutating func set(_ node: Int, textFrom start: Int, _ view: borrowing EventView) {
        // New traits as a whole take the place of those in the context.
        let node = tree.nodes[node].parent == EditTree.root ? node : place(node, view)
        if view.value(tree.nodes[node].path).type == .missing { checkParent(of: node, view) }
        edits[node].value = slice(from: start)
        noteEdit(node)
    }

    /// Removes a field that the event has.
    mutating func remove(_ node: Int, _ view: borrowing EventView) { remove(at: place(node, view)) }

    private mutating func remove(at node: Int) {
        edits[node].isRemoved = true
        noteEdit(node)
    }

    /// Renames a field that the event has. The new name is that of `other`, a node with the same parent. If the event
    /// has a field of that name, it is removed.
    mutating func rename(_ node: Int, to other: Int, _ view: borrowing EventView) {
        // Only names inside `traits` are names inside `context.traits` as well.
        let isTop = tree.nodes[node].parent == EditTree.root
        let (node, other) = isTop ? (node, other) : (place(node, view), place(other, view))
        let parent = tree.nodes[node].parent
        if parent != EditTree.root, view.value(tree.nodes[parent].path).type == .array { fail(node, .itemWithoutName) }
        let start = text.count
        let key = tree.nodes[other].key.range
        text.append(key.lowerBound..<key.upperBound - 1, of: tree.keys)
        edits[node].name = slice(from: start)
        noteEdit(node)
        if view.value(tree.nodes[other].path).type != .missing { remove(at: other) }
        edits[other].holder = node
    }

    /// Replaces a field's value with one that is made from it, with the edits of earlier transforms. A missing field
    /// stays missing.
    /// - Parameters:
    ///   - value: the field's value in the event.
    ///   - convert: appends the new value's JSON to `output`. False: it appended nothing, and the old value stays.
    ///     `value` lies in `json`.
    mutating func rewrite(
        _ node: Int, _ value: FieldValue, _ view: borrowing EventView,
        _ convert: (_ value: FieldValue, _ json: Span<UInt8>, _ output: inout [UInt8]) -> Bool
    ) {
        let holder = edits[node].holder
        let place = holder == EditTree.none ? node : holder
        let edit = edits[place]
        // Under another name, it is another field.
        guard !edit.isRemoved, !edit.name.isPresent || place == holder else { return }
        let start: Int
        let isWritten: Bool
        if edit.value.isPresent || edit.isAbove || place == holder {
            let value = place == node ? value : view.value(tree.nodes[place].path)
            // Moved out of the struct, so that it can be read while `text` is written.
            var present: [UInt8] = []
            swap(&present, &self.present)
            defer { swap(&present, &self.present) }
            write(place, value, view, into: &present)
            start = text.count
            isWritten = convert(FieldValue(of: present.span), present.span, &text)
        } else {
            guard value.type != .missing else { return }
            start = text.count
            isWritten = convert(value, view.json, &text)
        }
        guard isWritten else { return }
        edits[place].value = slice(from: start)
        noteEdit(place)
    }

    mutating func rewrite(
        _ node: Int, _ view: borrowing EventView,
        _ convert: (_ value: FieldValue, _ json: Span<UInt8>, _ output: inout [UInt8]) -> Bool
    ) {
        let node = place(node, view)
        rewrite(node, view.value(tree.nodes[node].path), view, convert)
    }

    /// The node of the field that an edit of this one changes: an identify without traits has them in its context.
    private func place(_ node: Int, _ view: borrowing EventView) -> Int {
        let twin = tree.nodes[node].twin
        guard twin != EditTree.none, let traits = tree.traits, view.hasTraitsInContext(traits) else { return node }
        return twin
    }

    /// Writes a field's value, as the edits so far make it, to `output`.
    /// - Parameter value: the field's value in the event.
    private mutating func write(
        _ node: Int, _ value: FieldValue, _ view: borrowing EventView, into output: inout [UInt8]
    ) {
        output.removeAll(keepingCapacity: true)
        if edits[node].value.isPresent { return output.append(edits[node].value.range, of: text) }
        let range = value.json ?? 0..<0
        splices.removeAll()
        collect(inside: node, value.type, range, view)
        splices.write(range, of: view.json, text.span, into: &output)
    }

    private func slice(from start: Int) -> Slice {
        Slice(offset: UInt32(start), length: UInt32(text.count - start))
    }

    private mutating func noteEdit(_ node: Int) {
        editCount += 1
        if edits[node].order == 0 { edits[node].order = editCount }
        var above = tree.nodes[node].parent
        while above != EditTree.none, !edits[above].isAbove {
            edits[above].isAbove = true
            if edits[above].order == 0 { edits[above].order = editCount }
            above = tree.nodes[above].parent
        }
    }

    // MARK: Edits that cannot be made

    private enum Problem { case notAnObject, noSuchItem, itemWithoutName }

    /// The reason why the first failed edit cannot be made.
    var failure: String? {
        guard let failed else { return nil }
        let path = tree.names[failed.node]
        return switch failed.problem {
        case .notAnObject: "\(path) is not an object, so nothing can be set inside it"
        case .noSuchItem: "\(path) does not exist, and new items cannot be added to a list"
        case .itemWithoutName: "\(path) is an item of a list, which has no name to change"
        }
    }

    private mutating func fail(_ node: Int, _ problem: Problem) {
        if failed == nil { failed = (node, problem) }
    }

    /// Checks that a field that the event does not have can be added: its nearest existing parent must be an object or
    /// null.
    private mutating func checkParent(of node: Int, _ view: borrowing EventView) {
        var child = node
        while true {
            let parent = tree.nodes[child].parent
            if parent == EditTree.root { return }
            switch view.value(tree.nodes[parent].path).type {
            case .missing: child = parent
            case .object, .null: return
            case .array: return fail(child, .noSuchItem)
            case .true, .false, .number, .string, .escapedString: return fail(parent, .notAnObject)
            }
        }
    }

    // MARK: Writing

    /// Appends the edited event to `output`.
    /// - Precondition: no edit has failed.
    /// - Parameter messageID: added to the event, unless a transform set one.
    /// - Returns: the place of the message id's contents in `output`. Empty if the event has no message id, or one that
    ///   is not a string.
    mutating func render(
        _ view: borrowing EventView, messageID: String?, into output: inout [UInt8]
    ) -> Range<Int> {
        if let messageID, !edits[messageIDNode].value.isPresent {
            set(messageIDNode, view) { JSONValue.append(messageID, to: &$0) }
        }
        let whole = 0..<view.json.count
        splices.removeAll()
        if hasEdits { collect(inside: EditTree.root, .object, whole, view) }
        let start = output.count
        splices.write(whole, of: view.json, text.span, into: &output)

        let written = edits[messageIDNode].value
        if written.isPresent {
            guard let place = splices.place(ofText: written), text[Int(written.offset)] == UInt8(ascii: "\"") else {
                return start..<start
            }
            return start + place + 1..<start + place + Int(written.length) - 1
        }
        let original = view.index.messageID
        guard original.isPresent else { return start..<start }
        let place = start + splices.place(of: Int(original.offset))
        return place..<place + Int(original.length)
    }

    /// Collects the changes inside a field that has no new value itself.
    private mutating func collect(
        inside node: Int, _ type: FieldType, _ range: Range<Int>, _ view: borrowing EventView
    ) {
        switch type {
        case .object, .array: if edits[node].isAbove { collect(node, object: range, view) }
        // Only a missing or null value can also have an edit inside.
        case .missing, .null: if edits[node].isAbove { build(node, inPlaceOf: range) }
        case .true, .false, .number, .string, .escapedString: break
        }
    }

    /// Collects the changes inside an object (or list) that the event has.
    private mutating func collect(_ node: Int, object: Range<Int>, _ view: borrowing EventView) {
        let (removalsBefore, additionsBefore) = (removals.count, additions.count)
        var next = tree.nodes[node].firstChild
        while next != EditTree.none {
            let child = next
            next = tree.nodes[child].nextSibling
            let edit = edits[child]
            guard edit.value.isPresent || edit.isAbove || edit.isRemoved || edit.name.isPresent else { continue }
            let value = view.value(tree.nodes[child].path)
            guard let range = value.json else {
                add(child, behind: additionsBefore)
                continue
            }
            if edit.isRemoved {
                removals.append(
                    JSONMembers.start(ofMemberAt: range.lowerBound, in: object, view.json)..<range.upperBound)
                continue
            }
            if edit.name.isPresent { splices.add(JSONMembers.key(ofMemberAt: range.lowerBound, view.json), edit.name) }
            if edit.value.isPresent {
                splices.add(range, edit.value)
            } else {
                collect(inside: child, value.type, range, view)
            }
        }
        let isEmpty = remove(removals.count - removalsBefore, from: object, view.json)
        guard additions.count > additionsBefore else { return }
        // After the object's last member.
        let end = object.upperBound - 1..<object.upperBound - 1
        build(additionsBefore, behind: isEmpty ? nil : UInt8(ascii: ","), at: end)
    }

    /// Removes the last `count` of `removals` from their object.
    /// - Returns: whether the object is then empty.
    private mutating func remove(_ count: Int, from object: Range<Int>, _ json: Span<UInt8>) -> Bool {
        guard count > 0 else { return JSONMembers.isEmpty(object, json) }
        let first = removals.count - count
        if count > 1 { removals[first...].sort { $0.lowerBound < $1.lowerBound } }
        var isEmpty = false
        var k = first
        while k < removals.count {
            // Join adjacent members.
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
            // Include the comma after them or, at the object's end, the comma before them.
            if let comma {
                run = run.lowerBound..<JSONMembers.skipSpace(comma + 1, json)
            } else if let before = JSONMembers.comma(before: run.lowerBound, json) {
                run = before..<run.upperBound
            } else {
                isEmpty = true
            }
            splices.add(run, .absent)
        }
        removals.removeLast(count)
        return isEmpty
    }

    /// Notes a member to add to an object. Members are added in the order in which transforms set them.
    /// - Parameter first: where the members of this object start in `additions`.
    private mutating func add(_ node: Int, behind first: Int) {
        guard edits[node].value.isPresent || edits[node].isAbove else { return }
        var place = additions.count
        while place > first, edits[additions[place - 1]].order > edits[node].order { place -= 1 }
        additions.insert(node, at: place)
    }

    /// Writes the noted members, starting at `first`.
    /// - Parameters:
    ///   - separator: the byte before the first member.
    ///   - range: the bytes that the members replace.
    private mutating func build(_ first: Int, behind separator: UInt8?, at range: Range<Int>) {
        let behind = range.upperBound..<range.upperBound
        for k in first..<additions.count {
            let node = additions[k]
            let start = text.count
            if let separator = k == first ? separator : UInt8(ascii: ",") { text.append(separator) }
            text.append(tree.nodes[node].key.range, of: tree.keys)
            splices.add(k == first ? range : behind, slice(from: start))
            if edits[node].value.isPresent {
                splices.add(behind, edits[node].value)
            } else {
                build(node, inPlaceOf: behind)
            }
        }
        additions.removeLast(additions.count - first)
    }

    /// Builds an object of the members that were set in a field that is missing or null.
    private mutating func build(_ node: Int, inPlaceOf range: Range<Int>) {
        let first = additions.count
        var next = tree.nodes[node].firstChild
        while next != EditTree.none {
            add(next, behind: first)
            next = tree.nodes[next].nextSibling
        }
        build(first, behind: UInt8(ascii: "{"), at: range)
        text.append(UInt8(ascii: "}"))
        splices.add(range.upperBound..<range.upperBound, slice(from: text.count - 1))
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ range: Range<Int>, of bytes: [UInt8]) {
        append(contentsOf: bytes.span.extracting(range))
    }
}
