import Events
import Testing

@testable import Routing

/// Random mappings and events made from a seed. Every run ends with an outcome, and its output is JSON
/// within the limit.
@Suite("Mappings under fuzzing")
struct MappingFuzzTests {
    private struct Maker {
        var random: SplitMix

        mutating func pick<Item>(_ items: [Item]) -> Item { items[Int(random.next() % UInt64(items.count))] }

        mutating func text() -> String {
            pick([
                "$.a", "$.a.b", "$.l.0", "$.s", "$.timestamp", "$.receivedAt", "$.messageId", "$", "{{ a }}-{{ s }}",
                "{{ l }}",
                "{{ secret.k }}", "x", "", "é\"\\\n", "$.", "{{", "$.a..b", "2026-01-31T12:00:00Z", "1e400",
                "$.properties", "{{timestamp}}",
            ])
        }

        mutating func value(_ depth: Int) -> MappingValue {
            switch random.next() % (depth > 4 ? 6 : 14) {
            case 0: return .null
            case 1: return .bool(true)
            case 2: return .number(pick(["1", "1.50", "-0", "1e400", "12345678901234567890"]))
            case 3: return .secret("k")
            case 4, 5: return .string(text())
            case 6: return .list((0..<Int(random.next() % 4)).map { _ in value(depth + 1) })
            case 7:
                let names = ["a", "b", "$$c", "é\"", "$date", "$unknown_name"].prefix(Int(random.next() % 7))
                return .object(names.map { .init($0, value(depth + 1)) })
            default: return directive(depth)
            }
        }

        mutating func directive(_ depth: Int) -> MappingValue {
            let directive = pick(Directive.all)
            var argument: MappingValue
            switch directive.form {
            case .value, .literal: argument = value(depth + 1)
            case .text: argument = .string(text())
            case .arguments(let declared, let shorthand):
                argument = .object(
                    declared.filter { $0.isRequired || random.next() % 3 > 0 }.map { .init($0.name, given($0, depth)) })
                if shorthand != nil, random.next() % 4 == 0 { argument = value(depth + 1) }
            case .list(let declared): argument = .list(declared.map { given($0, depth) })
            }
            if random.next() % 40 == 0 { argument = value(depth + 1) }
            return .object([.init(directive.name, argument)])
        }

        mutating func given(_ argument: Directive.Argument, _ depth: Int) -> MappingValue {
            switch argument.shape {
            case .value, .inner: value(depth + 1)
            case .values: .list((0..<Int(random.next() % 4)).map { _ in value(depth + 1) })
            case .text: .string(pick(["a", "x", "é", "", ".", "\""]))
            case .flag: .bool(random.next() % 2 == 0)
            case .integer(let bounds): .number("\(min(bounds.upperBound, bounds.lowerBound + Int(random.next() % 4)))")
            case .secret: .secret("k")
            case .choice(let choices): .string(pick(choices))
            }
        }

        mutating func json(_ depth: Int) -> String {
            switch random.next() % (depth > 4 ? 6 : 9) {
            case 0: return "null"
            case 1: return pick(["true", "false"])
            case 2: return pick(["0", "-1.50", "1e999", "12345678901234567890"])
            case 3, 4, 5:
                return pick([
                    #""""#, #""x""#, #""caf\u00e9 \"q\"""#, #""\ud83d\ude00""#, #""{\"a\":[1, 2]}""#,
                    #""2026-01-31T12:00:00Z""#, #""[1,""#,
                    #""\u0000\n""#, #""1.50""#,
                ])
            case 6: return "[" + (0..<Int(random.next() % 4)).map { _ in json(depth + 1) }.joined(separator: ", ") + "]"
            default:
                return "{"
                    + (0..<Int(random.next() % 5)).map { _ in
                        pick([#""a""#, #""b""#, #""\u0061""#, #""""#, #""s""#]) + " : " + json(depth + 1)
                    }.joined(separator: ",") + "}"
            }
        }

        mutating func event() -> String {
            let fields = ["a", "l", "s", "timestamp", "sentAt", "properties", "a"].filter { _ in random.next() % 3 > 0 }
            return #"{"type":"track","event":"A","userId":"u""# + fields.map { ",\"\($0)\":\(json(0))" }.joined() + "}"
        }
    }

    struct SplitMix {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `each mapping is refused or writes valid JSON`(seed: UInt64) throws {
        var maker = Maker(random: SplitMix(state: seed))
        var compiled = 0
        var written = 0
        for _ in 0..<600 {
            let mapping: Mapping
            do throws(TransformErrors) {
                mapping = try Mapping(maker.value(0))
            } catch {
                #expect(!error.errors.isEmpty)
                continue
            }
            compiled += 1
            var table = PathTable()
            let limit = 2048
            let program = MappingProgram(
                MappingSetting(mapping, limit: limit) { _ in "s\"e\n" }, journal: [UInt8](repeating: 1, count: 16),
                &table)
            let fields = EventFields(table)
            for _ in 0..<4 {
                let event = Array(maker.event().utf8)
                var first: [UInt8] = []
                for round in 0..<2 {
                    fields.startEvent()
                    var output = Array("before".utf8)
                    let view = EventView(
                        json: event.span, index: EventIndex(kind: .track), fields: fields,
                        moment: EventMoment(position: 3, receivedAt: 1_769_860_805_000_000_000))
                    let outcome = program.write(view, into: &output)
                    let text = Array(output.dropFirst(6))
                    if round == 0 { first = text }
                    #expect(first == text)
                    guard case .written(let id) = outcome else {
                        #expect(text.isEmpty)
                        continue
                    }
                    written += 1
                    #expect(text.count <= limit && !text.contains(10))
                    #expect(id.lowerBound >= 6 && id.upperBound <= output.count)
                    #expect(JSONDocument(text, maximumDepth: 64) != nil, "\(String(decoding: text, as: UTF8.self))")
                }
            }
        }
        #expect(compiled > 100 && written > 400)
    }
}
