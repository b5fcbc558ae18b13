import Events

/// `to_string: [properties.zip]`: converts numbers and booleans to text with the event's spelling, lists and objects to
/// their JSON. Strings and null are unchanged.
struct ToStringTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "to_string", ToStringTransform(), \.paths, .list(of: .path), example: "to_string: [properties.zip]",
        "converts numbers and other values to strings")

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

/// `to_number: [properties.total]`: converts a string that spells a number to that number, keeping its digits; true to
/// 1 and false to 0. Other values are unchanged.
struct ToNumberTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "to_number", ToNumberTransform(), \.paths, .list(of: .path), example: "to_number: [properties.total]",
        "converts strings that contain a number to numbers")

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
                return JSONText.unescape(json.extracting(value.slice.range), into: &text)
                    && Self.append(text.span, to: &output)
            case .missing, .null, .number, .array, .object: return false
            }
        }
    }

    /// Appends the number that a text spells. Spaces around it are ignored.
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

/// Converts the values of a list of fields.
final class ValueConversion: EventEditor {
    /// Appends the new value's JSON. Returns false, without appending, to leave the value unchanged.
    typealias Convert = (_ value: FieldValue, _ json: Span<UInt8>, _ output: inout [UInt8]) -> Bool

    private let conversions: [(node: Int, convert: Convert)]

    /// - Parameter spared: an empty text in one of these fields is left unchanged.
    init(
        _ paths: [FieldPath], _ binding: inout StageBinding, sparingEmpty spared: [FieldPath] = [],
        convert: @escaping Convert
    ) {
        conversions = paths.map { path in
            guard spared.contains(path) else { return (binding.node(path), convert) }
            return (
                binding.node(path),
                { value, json, output in
                    if value.type == .string, value.slice.range.isEmpty { return false }
                    return convert(value, json, &output)
                }
            )
        }
    }

    func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
        for (node, convert) in conversions { overlay.rewrite(node, view, convert) }
        return .keep
    }
}
