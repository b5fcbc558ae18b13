import Events

extension FilterProgram {
    /// Whether the event matches the filter with this number.
    func matches(_ view: borrowing EventView, filter: Int = 0) -> Bool {
        let root = Int(roots[filter])
        if let answer = answer(root, view) { return answer }
        var evaluation = FilterEvaluation(self, view)
        return evaluation.condition(root)
    }

    /// Decides from the event's index and fields without any memory, which is enough for nearly all filters. Nil: a
    /// `FilterEvaluation` is needed.
    private func answer(_ node: Int, _ view: borrowing EventView) -> Bool? {
        switch nodes[node] {
        case .constant(let value): return value
        case .kind(let mask): return mask & 1 << view.index.kind.rawValue != 0
        case .isIndexedText(let field, let text):
            let (slice, escaped) = field.slice(in: view.index)
            guard slice.isPresent else { return view.index.flags.contains(.hasOtherValues) ? nil : false }
            return escaped ? nil : constants.hold(view.bytes(slice), at: text)
        case .isFieldText(let path, let text):
            // A search of the bytes often shows that no field has the text. Then the event is not read.
            if view.fields.takeSearch(), !constants.mayOccur(in: view.json, at: text) { return false }
            let value = view.value(Int(path))
            guard value.type == .string else { return value.type == .escapedString ? nil : false }
            return constants.hold(view.bytes(value.slice), at: text)
        case .isIndexedIn(let field, let list):
            let (slice, escaped) = field.slice(in: view.index)
            let list = lists[Int(list)]
            guard slice.isPresent else { return view.index.flags.contains(.hasOtherValues) ? nil : list.hasNull }
            return escaped ? nil : strings.number(of: view.bytes(slice), in: list.strings) != nil
        case .isFieldIn(let path, let list):
            return isMember(view.value(Int(path)), of: lists[Int(list)], view)
        case .compareNumber(let comparison, let path, let number):
            return Self.compare(comparison, view.value(Int(path)), number, view.memory)
        case .isTrue(let operand):
            guard case .field(let path) = nodes[Int(operand)] else { return nil }
            return view.value(Int(path)).type == .true
        case .not(let operand): return answer(Int(operand), view).map { !$0 }
        case .all(let first, let end):
            for i in Int(first)..<Int(end) {
                guard let answer = answer(Int(children[i]), view) else { return nil }
                if !answer { return false }
            }
            return true
        case .any(let first, let end):
            for i in Int(first)..<Int(end) {
                guard let answer = answer(Int(children[i]), view) else { return nil }
                if answer { return true }
            }
            return false
        default: return nil
        }
    }

    /// - Returns: nil for a string with escapes, which must be decoded first.
    private func isMember(_ value: FieldValue, of list: ConstantList, _ view: borrowing EventView) -> Bool? {
        switch value.type {
        case .string: strings.number(of: view.bytes(value.slice), in: list.strings) != nil
        case .escapedString: nil
        case .number where list.firstNumber == list.endNumber: false
        case .number: JSONNumber(view.bytes(value.slice)).map { isNumber($0, in: list) } ?? list.hasNull
        case .true: list.hasTrue
        case .false: list.hasFalse
        case .missing, .null: list.hasNull
        case .array, .object: false
        }
    }

    /// Compares a field with a number. If the field is not a number, `!=` is true and all other comparisons are false.
    static func compare(
        _ comparison: Comparison, _ value: FieldValue, _ right: JSONNumber, _ json: Span<UInt8>
    ) -> Bool {
        guard value.type == .number, let left = JSONNumber(json.extracting(value.slice.range)) else {
            return comparison == .notEqual
        }
        // Only `==` and `<` are used. The other operators would be looked up in a table of the other module.
        switch comparison {
        case .equal: return left == right
        case .notEqual: return !(left == right)
        case .less: return left < right
        case .lessOrEqual: return !(right < left)
        case .greater: return right < left
        case .greaterOrEqual: return !(left < right)
        }
    }
}
