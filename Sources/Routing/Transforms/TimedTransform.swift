import Events

/// `timed: native`: converts events with a duration, which applications send as two tracks with `context.timing` = `{
/// id, phase: "start" or "stop", duration }`. Other events are unchanged.
///
/// - `native`, for destinations that support durations: drops the start and writes the duration to the stop, in the
///   field `duration`, by default `properties.duration`.
/// - `suffix`, for destinations that only have names: `Onboarding` becomes `Onboarding_START` and `Onboarding_STOP`,
///   or, with `case: upper_snake`, `ONBOARDING_START` and `ONBOARDING_STOP`.
/// - `both`: adds the suffixes and the duration.
/// - `ignore`: drops both events.
struct TimedTransform: EditingTransform {
    enum Mode: String, Sendable, CaseIterable { case native, suffix, both, ignore }

    static let declaration = TransformDeclaration.keys(
        "timed", TimedTransform(), shorthand: "as",
        [
            Setting(
                "as", \.mode, .choice, required: true,
                "native: the start event is dropped, and the stop event gets the duration; suffix: both events get a"
                    + " suffix; both: both events get a suffix, and the stop event gets the duration; ignore: both"
                    + " events are dropped"),
            Setting("duration", \.duration, .path, "the field for the duration"),
            Setting("start", \.start, .text("a suffix"), "the suffix for the name of a start event"),
            Setting("stop", \.stop, .text("a suffix"), "the suffix for the name of a stop event"),
            Setting(
                "case", \.spelling, .choice, "the spelling of a name that gets a suffix; the suffix stays as it is"),
        ],
        example: "timed: { as: native, duration: properties.duration }",
        "converts timed events (context.timing)")

    var mode = Mode.native
    var duration = FieldPath(["properties", "duration"])
    var start = "_START"
    var stop = "_STOP"
    var spelling: NameCase?

    private static let timing = FieldPath(["context", "timing"])
    private static let phase = FieldPath(["context", "timing", "phase"])
    private static let length = FieldPath(["context", "timing", "duration"])

    func check() -> [TransformError] {
        PathRules.problem(writing: duration).map { [TransformError(["duration"], $0)] }
            ?? (duration.overlaps(Self.timing)
                ? [
                    TransformError(
                        ["duration"], "the duration cannot be written into context.timing, its source",
                        hint: "name another field")
                ] : [])
    }

    private var writesDuration: Bool { mode == .native || mode == .both }
    private var writesName: Bool { mode == .suffix || mode == .both }

    var reads: [FieldPath] { [Self.phase, Self.length, IndexedField.event.path] }
    var writes: [FieldPath] { (writesDuration ? [duration] : []) + (writesName ? [IndexedField.event.path] : []) }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor { Editor(self, &binding) }

    private final class Editor: EventEditor {
        private let mode: Mode
        private let phase: Int
        private let length: Int
        private let duration: Int?
        private let name: Int?
        private let suffixes: (start: [UInt8], stop: [UInt8])
        private let spelling: NameCase?

        init(_ timed: TimedTransform, _ binding: inout StageBinding) {
            mode = timed.mode
            phase = binding.value(TimedTransform.phase)
            length = binding.value(TimedTransform.length)
            duration = timed.writesDuration ? binding.node(timed.duration) : nil
            name = timed.writesName ? binding.node(IndexedField.event.path) : nil
            func contents(_ text: String) -> [UInt8] {
                var contents: [UInt8] = []
                JSONText.appendContents(text.utf8.span, to: &contents)
                return contents
            }
            suffixes = (contents(timed.start), contents(timed.stop))
            spelling = timed.spelling
        }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            guard view.index.kind == .track, view.mayHave(Self.key.span) else { return .keep }
            let value = view.value(phase)
            guard value.isString else { return .keep }
            let isStart = JSONText.contents(view.bytes(value.slice), equal: Self.start.span)
            guard isStart || JSONText.contents(view.bytes(value.slice), equal: Self.stop.span) else { return .keep }
            if mode == .ignore || mode == .native && isStart { return .drop }
            if let name, view.index.event.isPresent {
                let suffix = isStart ? suffixes.start : suffixes.stop
                let spelled = spelled(view.bytes(view.index.event))
                overlay.set(name, view) { output in
                    output.append(UInt8(ascii: "\""))
                    if let spelled {
                        output.append(contentsOf: spelled)
                    } else {
                        output.append(contentsOf: view.bytes(view.index.event))
                    }
                    output.append(contentsOf: suffix)
                    output.append(UInt8(ascii: "\""))
                }
            }
            if let duration, !isStart, let range = view.value(length).json {
                overlay.set(duration, json: view.json.extracting(range), view)
            }
            return .keep
        }

        /// The contents of a JSON string in another spelling; nil: as they are.
        private func spelled(_ name: Span<UInt8>) -> [UInt8]? {
            guard let spelling else { return nil }
            var decoded: [UInt8] = []
            var output: [UInt8] = []
            guard JSONText.unescape(name, into: &decoded) else { return nil }
            spelling.append(decoded.span, to: &output)
            var contents: [UInt8] = []
            JSONText.appendContents(output.span, to: &contents)
            return contents
        }

        private static let key = Array("\"timing\"".utf8)
        private static let start = Array("start".utf8)
        private static let stop = Array("stop".utf8)
    }
}
