import Events

/// `session: native`: converts `context.session`, `{ id, kind, … }`, which records who used the application and in
/// which state it was. Events without it are unchanged.
///
/// - `native`, for destinations with user profiles: adds the session's members to the traits of an identify
///   (`session_id`, `session_kind` …), which updates the profile. Other events keep `context.session`.
/// - `properties`, for destinations without profiles: adds them to the properties of each event, and to the traits of
///   an identify or group.
/// - `ignore`: removes `context.session`.
struct SessionTransform: EditingTransform {
    enum Mode: String, Sendable, CaseIterable { case native, properties, ignore }

    static let declaration = TransformDeclaration.keys(
        "session", SessionTransform(), shorthand: "as",
        [
            Setting(
                "as", \.mode, .choice, required: true,
                "native: the session becomes traits of identify events; properties: it becomes properties of each"
                    + " event; ignore: it is removed"),
            Setting("prefix", \.prefix, .text("a prefix"), "the prefix of the names"),
        ],
        example: "session: properties", "converts sessions (context.session)")

    var mode = Mode.native
    var prefix = "session_"

    private static let session = FieldPath(["context", "session"])
    private static let properties = FieldPath(["properties"])
    private static let traits = FieldPath(["traits"])

    private var targets: [FieldPath] {
        switch mode {
        case .native: [Self.traits]
        case .properties: [Self.properties, Self.traits]
        case .ignore: []
        }
    }

    var reads: [FieldPath] { targets + [Self.session] }
    var writes: [FieldPath] { mode == .ignore ? [Self.session] : targets }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor { Editor(self, &binding) }

    private final class Editor: EventEditor {
        private let mode: Mode
        /// The prefix as contents of a JSON string, and decoded.
        private let prefix: [UInt8]
        private let prefixName: [UInt8]
        private let session: (value: Int, node: Int?)
        private let traits: (value: Int, node: Int)?
        private let properties: (value: Int, node: Int)?

        init(_ transform: SessionTransform, _ binding: inout StageBinding) {
            mode = transform.mode
            var prefix: [UInt8] = []
            JSONText.appendContents(transform.prefix.utf8.span, to: &prefix)
            self.prefix = prefix
            prefixName = Array(transform.prefix.utf8)
            session = (
                binding.value(SessionTransform.session), mode == .ignore ? binding.node(SessionTransform.session) : nil
            )
            func target(_ path: FieldPath, _ binding: inout StageBinding) -> (value: Int, node: Int)? {
                transform.targets.contains(path) ? (binding.target(path), binding.node(path)) : nil
            }
            traits = target(SessionTransform.traits, &binding)
            properties = target(SessionTransform.properties, &binding)
        }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            guard view.mayHave(Self.key.span) else { return .keep }
            let value = view.value(session.value)
            if let node = session.node {
                if value.type != .missing { overlay.remove(node, view) }
                return .keep
            }
            let target: (value: Int, node: Int)?
            switch view.index.kind {
            case .identify: target = traits
            case .group: target = mode == .properties ? traits : nil
            case .track, .page, .screen: target = properties
            case .alias: target = nil
            }
            guard value.type == .object, let target, let range = value.json, !JSONMembers.isEmpty(range, view.json)
            else { return .keep }
            let old = view.value(target.value)
            switch old.type {
            case .object, .missing, .null: break
            default: return .keep
            }
            overlay.set(target.node, view) { merge(range, into: old, view.json, &$0) }
            return .keep
        }

        /// Appends the object `old` with the session's members added. Members that `old` has already are kept.
        private func merge(_ session: Range<Int>, into old: FieldValue, _ json: Span<UInt8>, _ output: inout [UInt8]) {
            var isEmpty = true
            if old.type == .object, let range = old.json {
                isEmpty = JSONMembers.isEmpty(range, json)
                output.append(contentsOf: json.extracting(range.lowerBound..<range.upperBound - 1))
            } else {
                output.append(UInt8(ascii: "{"))
            }
            let names = names(of: old, json)
            var cursor = ObjectCursor(session)
            while let member = cursor.next(in: json) {
                let name = prefix + Array(copying: json.extracting(member.key.range))
                guard let value = member.value.json, !names.contains(prefixName + member.name(in: json)) else {
                    continue
                }
                if !isEmpty { output.append(UInt8(ascii: ",")) }
                isEmpty = false
                output.append(UInt8(ascii: "\""))
                output.append(contentsOf: name)
                output.append(contentsOf: [UInt8(ascii: "\""), UInt8(ascii: ":")])
                output.append(contentsOf: json.extracting(value))
            }
            output.append(UInt8(ascii: "}"))
        }

        /// The names of an object's members. A set, because the object and the session may each have thousands of
        /// members.
        private func names(of object: FieldValue, _ json: Span<UInt8>) -> Set<[UInt8]> {
            guard object.type == .object, let range = object.json else { return [] }
            var names = Set<[UInt8]>()
            var cursor = ObjectCursor(range)
            while let member = cursor.next(in: json) { names.insert(member.name(in: json)) }
            return names
        }

        private static let key = Array("\"session\"".utf8)
    }
}
