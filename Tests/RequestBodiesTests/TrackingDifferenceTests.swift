import Events
import RequestBodies
import Testing

/// Random and damaged bodies: the reader with the scan of its lines must agree with a strict reading of the whole body.
@Suite struct TrackingDifferenceTests {
    /// Repeatable for each seed.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
            return z ^ z >> 31
        }
        mutating func pick<Element>(_ list: [Element]) -> Element { list[Int(next() % UInt64(list.count))] }
        mutating func chance(_ percent: UInt64) -> Bool { next() % 100 < percent }
    }

    /// What a body becomes.
    private enum Outcome: Equatable {
        /// The problem of the body as a whole.
        case problem(isJSON: Bool)
        /// For each item its event, or nil if it was refused before the scan.
        case events([StrictJSON.Value?])
    }

    private static let keys = [
        "batch", "context", "integrations", "sentAt", "writeKey", "type", "b\\u0061tch", "write\\u004Bey", "a", "",
        "\\\"",
        "x\\\"type", "é", "\\\\", "conte\\u0078t", "userId", ":,", "}]",
    ]
    private static let scalars = [
        "1", "-0.5e+3", "true", "false", "null", "\"\"", "\"track\"", "\"T\"", "\"\\u00e9\\n\"", "\"]}{[\\\"\"",
        "\"\\\\\"",
        "\"ünï\"", "1e999", "123456789012345678901234567890",
    ]
    private static let spaces = ["", "", "", "", " ", "\t", "\n", "\r\n", "                 "]

    private static func value(_ depth: Int, _ random: inout Generator) -> String {
        let space = random.pick(spaces)
        guard depth > 0, random.chance(40) else { return space + random.pick(scalars) + random.pick(spaces) }
        if random.chance(30) {
            let items = (0..<random.next() % 4).map { _ in value(depth - 1, &random) }
            return space + "[" + (items.isEmpty ? random.pick(spaces) : items.joined(separator: ",")) + "]" + space
        }
        return space + object(depth, &random) + random.pick(spaces)
    }

    private static func object(_ depth: Int, _ random: inout Generator) -> String {
        let members = (0..<random.next() % 5).map { _ in
            random.pick(spaces) + "\"\(random.pick(keys))\"" + random.pick(spaces) + ":" + value(depth - 1, &random)
        }
        return "{" + (members.isEmpty ? random.pick(spaces) : members.joined(separator: ",")) + "}"
    }

    private static func batch(_ random: inout Generator) -> String {
        let items = (0..<random.next() % 5).map { _ in
            random.chance(85) ? random.pick(spaces) + object(3, &random) + random.pick(spaces) : value(2, &random)
        }
        var members = ["\"batch\":" + random.pick(spaces) + "[" + items.joined(separator: ",") + "]"]
        if random.chance(60) { members.append("\"context\": \(object(2, &random))") }
        if random.chance(60) { members.append("\"sentAt\":\"T\"") }
        if random.chance(30) { members.append("\"integrations\":\(value(2, &random))") }
        if random.chance(30) { members.append("\"\(random.pick(keys))\":\(value(3, &random))") }
        members.shuffle(using: &random)
        return random.pick(spaces) + "{" + members.joined(separator: ",") + "}" + random.pick(spaces)
    }

    private static func damage(_ body: [UInt8], _ random: inout Generator) -> [UInt8] {
        var body = body
        for _ in 0...random.next() % 2 where !body.isEmpty {
            let at = Int(random.next() % UInt64(body.count))
            let bytes = Array("{}[]\",:\\ \n1ntu0Y\u{7f}\u{0}é\u{1}e.-'/".utf8) + [0xFF, 0xC3, 0x80]
            switch random.next() % 5 {
            case 0: body.remove(at: at)
            case 1: body.insert(random.pick(bytes), at: at)
            case 2: body[at] = random.pick(bytes)
            case 3: body.swapAt(at, Int(random.next() % UInt64(body.count)))
            default:
                let end = min(body.count, at + Int(random.next() % 20))
                if random.chance(50) {
                    body.removeSubrange(at..<end)
                } else {
                    body.insert(contentsOf: body[at..<end], at: at)
                }
            }
        }
        return body
    }

    private static func readers() -> (TrackingRequestReader, EventScanner) {
        (
            TrackingRequestReader(limits: TrackingReading.limits),
            EventScanner(maximumEventSize: 32 << 10, maximumDepth: 64)
        )
    }

    private static func outcome(
        _ body: [UInt8], _ endpoint: TrackingEndpoint, _ reader: TrackingRequestReader, _ scanner: EventScanner
    ) -> Outcome {
        do throws(RequestProblem) {
            let lines = try reader.read(body.span, for: endpoint).lines
            var accepted: [ScannedEvent] = []
            var refused: [RefusedLine] = []
            let result = scanner.scan(lines.bytes.span, accepted: &accepted, refused: &refused)
            #expect(result.lines == lines.items.count && result.consumed == lines.bytes.count)
            if refused.contains(where: { $0.reason == .invalidJSON || $0.reason == .invalidUTF8 }) {
                #expect(reader.problem(in: body.span) != nil)
                return .problem(isJSON: false)
            }
            var events = [StrictJSON.Value?](repeating: nil, count: lines.count)
            #expect(Set(lines.items + lines.refused.map(\.item)) == Set(0..<lines.count))
            for (item, line) in zip(lines.items, lines.bytes.split(separator: 0x0A)) {
                events[item] = StrictJSON.read(Array(line))
                #expect(events[item] != nil)
            }
            return .events(events)
        } catch {
            return .problem(isJSON: error.reason != .invalidJSON && error.reason != .invalidUTF8)
        }
    }

    private static func expectedBatch(_ body: [UInt8]) -> Outcome {
        guard let whole = StrictJSON.read(body) else { return .problem(isJSON: false) }
        guard case .array(let items) = whole.field("batch"), !items.isEmpty else { return .problem(isJSON: true) }
        let context = whole.field("context")
        if let context, context.members == nil { return .problem(isJSON: true) }
        return .events(
            items.map { item in
                guard var members = item.members else { return nil }
                members.removeAll { $0.key == "writeKey" }
                share("context", context, isMerged: true, &members)
                share("integrations", whole.field("integrations"), isMerged: true, &members)
                share("sentAt", whole.field("sentAt"), isMerged: false, &members)
                return .object(members)
            })
    }

    private static func expectedEvent(_ body: [UInt8]) -> Outcome {
        guard let whole = StrictJSON.read(body) else { return .problem(isJSON: false) }
        guard var members = whole.members else { return .events([nil]) }
        let type = whole.field("type")
        if type != nil, type != .string("track") { return .events([nil]) }
        members.removeAll { $0.key == "writeKey" }
        share("type", .string("track"), isMerged: false, &members)
        return .events([.object(members)])
    }

    private static func share(
        _ key: String, _ value: StrictJSON.Value?, isMerged: Bool, _ members: inout [StrictJSON.Member]
    ) {
        guard let value else { return }
        guard let place = members.lastIndex(where: { $0.key == key }) else {
            members.append(StrictJSON.Member(key: key, value: value))
            return
        }
        if members[place].value == .word("null") {
            members[place].value = value
        } else if isMerged, let own = members[place].value.members, let shared = value.members {
            let keys = Set(own.map(\.key))
            let added = shared.indices.filter { index in
                !keys.contains(shared[index].key) && !shared[(index + 1)...].contains { $0.key == shared[index].key }
            }
            members[place].value = .object(own + added.map { shared[$0] })
        }
    }

    @Test(arguments: 0..<4) func `random batches become the same events as by a strict reading`(seed: UInt64) {
        var random = Generator(state: seed)
        let (reader, scanner) = Self.readers()
        var valid = 0
        for _ in 0..<1500 {
            var body = Array(Self.batch(&random).utf8)
            if random.chance(50) { body = Self.damage(body, &random) }
            let expected = Self.expectedBatch(body)
            if case .events = expected { valid += 1 }
            #expect(Self.outcome(body, .batch, reader, scanner) == expected, "\(String(decoding: body, as: UTF8.self))")
        }
        #expect((400...1300).contains(valid), "\(valid) bodies were valid")
    }

    @Test(arguments: 0..<4) func `random events become the same event as by a strict reading`(seed: UInt64) {
        var random = Generator(state: seed &+ 1000)
        let (reader, scanner) = Self.readers()
        var valid = 0
        for _ in 0..<1500 {
            var body = Array((random.chance(95) ? Self.object(3, &random) : Self.value(2, &random)).utf8)
            if random.chance(50) { body = Self.damage(body, &random) }
            let expected = Self.expectedEvent(body)
            if expected != .problem(isJSON: false) { valid += 1 }
            let found = Self.outcome(body, .single(.track), reader, scanner)
            #expect(found == expected, "\(String(decoding: body, as: UTF8.self))")
        }
        #expect((400...1300).contains(valid), "\(valid) bodies were valid")
    }

    // A body with a write key in an item takes another way than one without.
    @Test(arguments: [
        #"{"batch":[{"a":"\u00e9","context":{"k":[1]}},{"writeKey":"w","n":-1.5e3}, {}],"context":{"i":{}},"sentAt":"T"}"#,
        #"{"batch":[{"a":"\"","b":[{},1]},{"context":null}, {"sentAt":"U"} ],"context":{"i":{}},"sentAt":"T"}"#,
        #"{"a":1,"batch" : [ {"context":{"x":"y"}},{},{"a":{}}]}"#,
    ])
    func `each change of one byte has the same effect as by a strict reading`(text: String) {
        let (reader, scanner) = Self.readers()
        let body = Array(text.utf8)
        let bytes = Array("{}[]\",:\\ \t\n\r01-+.eEtfnuabY/'#\u{0}\u{1F}\u{7F}".utf8) + [0x80, 0xC3, 0xE2, 0xF0, 0xFF]
        for at in body.indices {
            for byte in bytes {
                var changed = body
                changed[at] = byte
                let found = Self.outcome(changed, .batch, reader, scanner)
                #expect(found == Self.expectedBatch(changed), "\(String(decoding: changed, as: UTF8.self))")
            }
            let cut = Array(body[..<at])
            #expect(Self.outcome(cut, .batch, reader, scanner) == .problem(isJSON: false))
        }
    }
}
