import Events

/// `flatten: { paths: [properties], separator: _ }`: moves the members of nested objects to the outer object.
/// `{"shop":{"city":"Bonn"}}` becomes `{"shop_city":"Bonn"}`. Lists and empty objects are unchanged.
///
/// If two members get the same name, such as `shop.city` and `shop_city`, both are kept. Most readers use the last one.
struct FlattenTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "flatten", FlattenTransform(), shorthand: "paths",
        [
            Setting("paths", \.paths, .list(of: .path), "objects to flatten"),
            Setting("separator", \.separator, .text("a separator"), "written between the joined names"),
        ],
        example: "flatten: { paths: [properties], separator: _ }",
        "moves the members of nested objects into the outer object")

    var paths = [FieldPath(["properties"]), FieldPath(["traits"])]
    var separator = "_"

    func check() -> [TransformError] { PathRules.errors(inList: paths, of: ["paths"]) }
    var reads: [FieldPath] { [] }
    var writes: [FieldPath] { paths }
    var rewrites: [FieldPath] { paths }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor { Editor(self, &binding) }

    private final class Editor: EventEditor {
        private let nodes: [Int]
        private let separator: [UInt8]
        private let limit: Int

        init(_ flatten: FlattenTransform, _ binding: inout StageBinding) {
            nodes = flatten.paths.map { binding.node($0) }
            var separator: [UInt8] = []
            JSONText.appendContents(flatten.separator.utf8.span, to: &separator)
            self.separator = separator
            limit = binding.surroundings.limit
        }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            var isTooLarge = false
            let limit = self.limit
            for node in nodes {
                overlay.rewrite(node, view) { value, json, output in
                    guard value.type == .object, let range = value.json else { return false }
                    // Remove duplicate names first. A value hidden by a later one of the same name must not reappear
                    // under a new name.
                    if !UniqueMembers.areCertain(range, of: json) {
                        let unique = UniqueMembers.copy(json.extracting(range))
                        flatten(0..<unique.count, of: unique.span, limit, &output, &isTooLarge)
                    } else {
                        flatten(range, of: json, limit, &output, &isTooLarge)
                    }
                    return true
                }
            }
            return isTooLarge ? .reject(EditStage.tooLarge(self.limit)) : .keep
        }

        private func flatten(
            _ object: Range<Int>, of json: Span<UInt8>, _ limit: Int, _ output: inout [UInt8], _ isTooLarge: inout Bool
        ) {
            var flattening = Flattening(separator: separator, output: output, limit: limit, of: object.count)
            // Drop the second reference, so that the array is unique and grows in place.
            output = []
            flattening.append(object, of: json)
            flattening.output.append(UInt8(ascii: "}"))
            output = flattening.output
            if flattening.isTooLarge { isTooLarge = true }
        }
    }

    private struct Flattening {
        let separator: [UInt8]
        var output: [UInt8]
        /// Names of the enclosing objects as contents of JSON strings, each followed by a separator.
        private var prefix: [UInt8] = []
        private var isFirst = true
        private let end: Int

        init(separator: [UInt8], output: [UInt8], limit: Int, of size: Int) {
            self.separator = separator
            self.output = output
            let (end, overflow) = (output.count + size).addingReportingOverflow(limit)
            self.end = overflow ? .max : end
        }

        /// Names grow with each enclosing object, so writing stops at the limit.
        var isTooLarge: Bool { output.count > end }

        mutating func append(_ object: Range<Int>, of json: Span<UInt8>) {
            if prefix.isEmpty, isFirst { output.append(UInt8(ascii: "{")) }
            var cursor = ObjectCursor(object)
            while !isTooLarge, let member = cursor.next(in: json) {
                guard let range = member.value.json else { continue }
                let key = json.extracting(member.key.range)
                if member.value.type == .object, !JSONMembers.isEmpty(range, json) {
                    let length = prefix.count
                    prefix.append(contentsOf: key)
                    prefix.append(contentsOf: separator)
                    append(range, of: json)
                    prefix.removeLast(prefix.count - length)
                    continue
                }
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                output.append(UInt8(ascii: "\""))
                output.append(contentsOf: prefix)
                output.append(contentsOf: key)
                output.append(UInt8(ascii: "\""))
                output.append(UInt8(ascii: ":"))
                output.append(contentsOf: json.extracting(range))
            }
        }
    }
}
