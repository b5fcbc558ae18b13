import Events

extension Directive {
    static let hash = Directive(
        "$hash",
        .arguments(
            [
                Argument(
                    "value", .value, required: true,
                    "what is hashed: text; numbers and booleans as they are spelled, lists and objects as their JSON"),
                Argument("key", .secret, "makes it HMAC, which nobody without the key can guess back"),
            ], shorthand: "value"), "the SHA-256 of a value, in hexadecimal digits; null stays"
    ) { arguments throws(DirectiveFault) in
        HashNode(value: try arguments.required("value"), key: arguments.secret("key"))
    }
}

private struct HashNode: MappingNode {
    let value: any MappingNode
    let key: Int?

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var text = scope.run.takeBuffer()
        defer { scope.run.giveBack(&text) }
        switch scope.read(value, into: &text) {
        case .missing: return false
        case .null: output.append(contentsOf: text.span)
        default: scope.run.digest(key: key).appendJSON(of: text.span, to: &output)
        }
        return true
    }
}
