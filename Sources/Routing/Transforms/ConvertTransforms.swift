import Events

/// `to_string: [properties.zip]`: numbers and booleans as text, spelled as the event spells them;
/// lists and objects as their JSON. Strings and null stay.
struct ToStringTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "to_string", ToStringTransform(), \.paths, .list(of: .path), example: "to_string: [properties.zip]",
        "makes strings of numbers and other values")

    var paths: [FieldPath] = []

    func check() -> [TransformError] { PathRules.errors(inList: paths, of: []) }
    var reads: [FieldPath] { [] }
    var writes: [FieldPath] { paths }
    var rewrites: [FieldPath] { paths }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        ValueConversion(paths, &binding) { value, json, output in
            switch value.type {
            case .missing, .null, .string, .escapedString: return false
            case .true, .false, .number, .array, .object:
                JSONText.appendString(json.extracting(value.slice.range), to: &output)
                return true
            }
        }
    }
}

/// `to_number: [properties.total]`: strings that spell a number become that number, digit for digit;
/// true is 1, false is 0. Everything else stays.
struct ToNumberTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "to_number", ToNumberTransform(), \.paths, .list(of: .path), example: "to_number: [properties.total]",
        "makes numbers of strings that spell one")

    var paths: [FieldPath] = []

    func check() -> [TransformError] { PathRules.errors(inList: paths, of: []) }
    var reads: [FieldPath] { [] }
    var writes: [FieldPath] { paths }
    var rewrites: [FieldPath] { paths }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        ValueConversion(paths, &binding) { value, json, output in
            switch value.type {
            case .true, .false:
                output.append(value.type == .true ? UInt8(ascii: "1") : UInt8(ascii: "0"))
                return true
            case .string: return Self.append(json.extracting(value.slice.range), to: &output)
            case .escapedString:
                var text: [UInt8] = []
                return JSONText.unescape(json.extracting(value.slice.range), into: &text) && Self.append(text.span, to: &output)
            case .missing, .null, .number, .array, .object: return false
            }
        }
    }

    /// Appends the number that a text spells, between spaces perhaps.
    private static func append(_ text: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        var (start, end) = (0, text.count)
        while start < end, text[start] == 0x20 { start += 1 }
        while start < end, text[end - 1] == 0x20 { end -= 1 }
        let number = text.extracting(start..<end)
        guard JSONNumber(number) != nil else { return false }
        output.append(contentsOf: number)
        return true
    }
}

/// Rewrites each of some fields.
final class ValueConversion: EventEditor {
    /// Appends the new value's JSON; false: it stays, nothing was appended.
    typealias Convert = (_ value: FieldValue, _ json: Span<UInt8>, _ output: inout [UInt8]) -> Bool

    private let nodes: [Int]
    private let convert: Convert

    init(_ paths: [FieldPath], _ binding: inout StageBinding, convert: @escaping Convert) {
        nodes = paths.map { binding.node($0) }
        self.convert = convert
    }

    func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
        for node in nodes { overlay.rewrite(node, view, convert) }
        return .keep
    }
}
