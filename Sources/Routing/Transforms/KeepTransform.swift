import Events

/// `keep: [properties.plan, properties.total, context.os.name]`: removes all other fields from the top-level objects
/// named in the paths (here `properties` and `context`). Other fields of the event are unchanged.
struct KeepTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "keep", KeepTransform(), \.paths, .list(of: .path), example: "keep: [properties.plan, properties.total]",
        "keeps only these fields in the top-level objects that contain them")

    var paths: [FieldPath] = []

    func check() -> [TransformError] {
        let shallow = paths.indices.filter { paths[$0].segments.count < 2 }.map {
            TransformError(
                ["\($0)"], "keep needs a field inside an object, such as properties.plan",
                hint: "to remove fields of the event itself, use drop")
        }
        return shallow + PathRules.errors(inList: paths, of: [])
    }

    private var tops: [FieldPath] {
        var seen: Set<String> = []
        return paths.filter { seen.insert($0.segments[0]).inserted }.map { FieldPath([$0.segments[0]]) }
    }

    var reads: [FieldPath] { [] }
    var writes: [FieldPath] { tops }
    var rewrites: [FieldPath] { tops }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        Editor(
            tops.map { top in
                let below = paths.filter { $0.segments[0] == top.segments[0] }.map { $0.segments.dropFirst() }
                return (binding.node(top), Kept(below))
            })
    }

    /// The members of an object to keep, by name. A member without entries below it is kept whole.
    private struct Kept {
        var members: [(name: [UInt8], kept: Kept)] = []
        private var namesItems = false

        init(_ paths: [ArraySlice<String>]) {
            for name in Set(paths.compactMap(\.first)).sorted() {
                let below = paths.filter { $0.first == name }.map { $0.dropFirst() }.filter { !$0.isEmpty }
                members.append((Array(name.utf8), Kept(below)))
                if name.utf8.allSatisfy(\.isDigit) { namesItems = true }
            }
        }

        /// Appends the kept part of a value.
        func append(_ value: FieldValue, of json: Span<UInt8>, to output: inout [UInt8]) {
            guard let range = value.json else { return }
            switch value.type {
            case .object where !members.isEmpty:
                output.append(UInt8(ascii: "{"))
                var isFirst = true
                var cursor = ObjectCursor(range)
                while let member = cursor.next(in: json) {
                    let key = json.extracting(member.key.range)
                    guard let kept = members.first(where: { JSONText.contents(key, equal: $0.name.span) })?.kept else {
                        continue
                    }
                    if !isFirst { output.append(UInt8(ascii: ",")) }
                    isFirst = false
                    let start = member.value.json?.lowerBound ?? member.range.upperBound
                    output.append(contentsOf: json.extracting(member.range.lowerBound..<start))
                    kept.append(member.value, of: json, to: &output)
                }
                output.append(UInt8(ascii: "}"))
            // Only numeric names select items of a list.
            case .array where namesItems:
                output.append(UInt8(ascii: "["))
                var isFirst = true
                var cursor = ListCursor(range)
                var number = 0
                while let item = cursor.next(in: json) {
                    defer { number += 1 }
                    let name = Array("\(number)".utf8)
                    guard let kept = members.first(where: { $0.name == name })?.kept else { continue }
                    if !isFirst { output.append(UInt8(ascii: ",")) }
                    isFirst = false
                    kept.append(item, of: json, to: &output)
                }
                output.append(UInt8(ascii: "]"))
            default: output.append(contentsOf: json.extracting(range))
            }
        }
    }

    private final class Editor: EventEditor {
        let objects: [(node: Int, kept: Kept)]

        init(_ objects: [(node: Int, kept: Kept)]) { self.objects = objects }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            for object in objects {
                overlay.rewrite(object.node, view) { value, json, output in
                    guard value.type == .object || value.type == .array else { return false }
                    object.kept.append(value, of: json, to: &output)
                    return true
                }
            }
            return .keep
        }
    }
}
