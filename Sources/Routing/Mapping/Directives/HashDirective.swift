import Events
import Hashing

extension Directive {
    static let hash = Directive(
        "$hash",
        .arguments(
            [
                Argument(
                    "value", .value, required: true,
                    "the value to hash: text, the JSON spelling of a number or boolean, the JSON of a list or object"),
                Argument("key", .secret, "a secret for HMAC; without it, anyone can test guesses of the value"),
            ], shorthand: "value"), "the SHA-256 of a value, in hexadecimal digits; null stays null"
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
