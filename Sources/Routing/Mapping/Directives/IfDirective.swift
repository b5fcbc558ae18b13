import Events

extension Directive {
    static let `if` = Directive(
        "$if",
        .arguments([
            Argument("exists", .value, "the condition: this value is present and not null"),
            Argument("is_blank", .value, "the condition: this value is missing, null or empty text"),
            Argument("then", .value, "the value if the condition holds; missing by default"),
            Argument("else", .value, "the value if the condition does not hold; missing by default"),
        ]), "one of two values, chosen by a condition",
        // In Segment's mapping-kit, `blank` holds for a value that is not blank. A condition with the opposite meaning
        // must not have the same name.
        explained: [
            "blank": (
                "$if has no argument blank: in Segment's mapping-kit, blank takes then for a value that is not blank",
                "is_blank takes then for a value that is missing, null or empty text; "
                    + "for a mapping from mapping-kit, write is_blank and swap then and else"
            )
        ]
    ) { arguments throws(DirectiveFault) in
        let (exists, blank) = (arguments.value("exists"), arguments.value("is_blank"))
        guard let condition = exists ?? blank, exists == nil || blank == nil else {
            throw DirectiveFault(
                message: exists == nil ? "$if needs a condition" : "$if has two conditions",
                hint: "give it one of exists and is_blank")
        }
        let (then, otherwise) = (arguments.value("then"), arguments.value("else"))
        guard then != nil || otherwise != nil else {
            throw DirectiveFault(message: "$if has no result", hint: "add then:, else: or both")
        }
        return IfNode(condition: condition, isBlank: exists == nil, then: then, otherwise: otherwise)
    }
}

private struct IfNode: MappingNode {
    let condition: any MappingNode
    /// Whether the condition is `is_blank` instead of `exists`.
    let isBlank: Bool
    let then: (any MappingNode)?
    let otherwise: (any MappingNode)?

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        (holds(scope) ? then : otherwise)?.write(scope, to: &output) ?? false
    }

    private func holds(_ scope: borrowing MappingScope) -> Bool {
        if case .path(let path) = condition.field {
            let value = scope.value(path)
            return holds(value.type, isEmpty: value.slice.length == 0)
        }
        var text = scope.run.takeBuffer()
        defer { scope.run.giveBack(&text) }
        let type = scope.read(condition, into: &text)
        return holds(type, isEmpty: text.isEmpty)
    }

    private func holds(_ type: FieldType, isEmpty: Bool) -> Bool {
        switch type {
        case .missing, .null: isBlank
        case .string, .escapedString: isBlank ? isEmpty : true
        default: !isBlank
        }
    }
}
