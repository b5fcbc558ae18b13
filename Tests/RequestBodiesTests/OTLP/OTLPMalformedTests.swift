import Events
import RequestBodies
import Testing

/// Requests that are damaged, hostile or too large.
@Suite struct OTLPMalformedTests {
    private static let encodings = [OTLPLogs.Encoding.protobuf, .json]

    private static func sample(_ encoding: OTLPLogs.Encoding) -> [UInt8] {
        encoding == .json ? OTLPSample.pythonJSON : OTLPSample.python
    }

    /// Checks what holds for the result of every request, whatever its bytes.
    private func check(_ body: [UInt8], _ encoding: OTLPLogs.Encoding, _ scanner: EventScanner) {
        guard let lines = try? OTLPSample.lines(body, encoding) else { return }
        #expect((lines.items + lines.refused.map(\.item)).sorted() == Array(0..<lines.count))
        #expect(lines.bytes.count { $0 == UInt8(ascii: "\n") } == lines.items.count)
        var accepted: [ScannedEvent] = []
        var refused: [ScannedRefusal] = []
        let result = scanner.scan(lines.bytes.span, accepted: &accepted, refused: &refused)
        #expect(result.lines == lines.items.count)
        #expect(refused.isEmpty, "\(refused) for \(body)")
        #expect(accepted.count == lines.items.count)
    }

    @Test(arguments: encodings) func `every truncation of a request is refused`(_ encoding: OTLPLogs.Encoding) {
        let body = Self.sample(encoding)
        // No bytes are an empty message of protobuf.
        for count in (encoding == .json ? 0 : 1)..<body.count {
            let cut = Array(body[..<count])
            let problem = #expect(throws: RequestProblem.self) { try OTLPSample.lines(cut, encoding) }
            #expect(problem?.reason == .invalidJSON || problem?.reason == .invalidUTF8, "\(count) bytes")
        }
    }

    @Test func `a truncation deep inside a message is refused`() throws {
        let record = OTLPSample.record.message(6, ProtobufMessage().bytes(2, [0x0A, 5, 0x61]))
        let problem = #expect(throws: RequestProblem.self) { try OTLPSample.lines(OTLPSample.request([record])) }
        #expect(problem?.detail.contains("a field is longer than the rest of its message") == true)
    }

    @Test(arguments: encodings) func `every changed byte leaves valid events or an error`(_ encoding: OTLPLogs.Encoding)
    {
        let scanner = EventScanner(maximumEventSize: 32_768, maximumDepth: 64)
        let body = Self.sample(encoding)
        for index in body.indices {
            for change: UInt8 in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x7F, 0xFF] {
                var changed = body
                changed[index] ^= change
                check(changed, encoding, scanner)
            }
        }
    }

    @Test(arguments: encodings) func `random damage leaves valid events or an error`(_ encoding: OTLPLogs.Encoding) {
        var random = SystemRandomNumberGenerator()
        let scanner = EventScanner(maximumEventSize: 32_768, maximumDepth: 64)
        let body = Self.sample(encoding)
        for _ in 0..<3_000 {
            var changed = body
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let start = Int.random(in: 0..<changed.count, using: &random)
                let end = min(changed.count, start + Int.random(in: 0...6, using: &random))
                switch Int.random(in: 0..<3, using: &random) {
                case 0: changed[start] = UInt8.random(in: 0...255, using: &random)
                case 1: changed.insert(contentsOf: changed[start..<end], at: Int.random(in: 0..<changed.count))
                default: if changed.count > end - start { changed.removeSubrange(start..<end) }
                }
            }
            check(changed, encoding, scanner)
        }
    }

    @Test func `an empty request has no events`() throws {
        #expect(try OTLPSample.lines([]).count == 0)
        #expect(try OTLPSample.lines(Array("{}".utf8), .json).count == 0)
        #expect(try OTLPSample.lines(OTLPSample.request([])).count == 0)
        #expect(try OTLPSample.lines(ProtobufMessage().text(2, "unknown").varint(1, 1).bytes).count == 0)
    }

    @Test(arguments: encodings) func `the records of a request are bounded`(_ encoding: OTLPLogs.Encoding) throws {
        func body(_ count: Int) -> [UInt8] {
            if encoding == .protobuf { return OTLPSample.request(Array(repeating: ProtobufMessage(), count: count)) }
            return OTLPSample.json(Array(repeating: "{}", count: count).joined(separator: ","))
        }
        // Refused records count, too.
        #expect(try OTLPSample.lines(body(100), encoding).refused.count == 100)
        let problem = #expect(throws: RequestProblem.self) { try OTLPSample.lines(body(101), encoding) }
        #expect(problem?.reason == .tooLarge)
        #expect(problem?.detail.contains("max_batch_events") == true)
    }

    @Test func `records are numbered through all scopes and resources`() throws {
        let one = OTLPSample.request([OTLPSample.record, ProtobufMessage()])
        let lines = try OTLPSample.lines(one + one)
        #expect(lines.items == [0, 2])
        #expect(lines.refused.map(\.item) == [1, 3])
    }

    @Test func `the resource may follow its records`() throws {
        let scopeLogs = ProtobufMessage().message(2, OTLPSample.record).message(1, ProtobufMessage().text(1, "lib"))
        let resource = ProtobufMessage().attribute(1, "r", "1")
        let first = ProtobufMessage().attribute(1, "r", "0")
        let body = ProtobufMessage().message(
            1, ProtobufMessage().message(1, first).message(2, scopeLogs).message(1, resource))
        #expect(
            OTLPSample.texts(try OTLPSample.lines(body.bytes)).first?.contains(
                #""context":{"library":{"name":"lib"},"otel":{"resource":{"r":"1"}}}"#) == true)
    }

    @Test(arguments: [5, 6] as [UInt64], encodings)
    func `values are nested at most as deep as an event may be`(_ kind: UInt64, _ encoding: OTLPLogs.Encoding) throws {
        /// A value of `depth` lists.
        func body(_ depth: Int) -> [UInt8] {
            if encoding == .protobuf {
                var value = ProtobufMessage()
                for _ in 0..<depth {
                    let list = kind == 5 ? value : ProtobufMessage().text(1, "k").message(2, value)
                    value = ProtobufMessage().message(kind, ProtobufMessage().message(1, list))
                }
                return OTLPSample.request([OTLPSample.record.attribute(6, "v", value)])
            }
            let (open, close) =
                kind == 5
                ? (#"{"arrayValue":{"values":["#, "]}}")
                : (#"{"kvlistValue":{"values":[{"key":"k","value":"#, "}]}}")
            return OTLPSample.json(
                #"{"eventName":"E","attributes":[{"key":"user.id","value":{"stringValue":"u"}},{"key":"v","value":"#
                    + String(repeating: open, count: depth) + "{}" + String(repeating: close, count: depth) + "}]}")
        }
        // The event and its properties contain the value.
        #expect(try OTLPSample.lines(body(62), encoding).items == [0])
        for depth in [63, 64, 65, 66, 2_000] {
            let lines = try OTLPSample.lines(body(depth), encoding)
            #expect(lines.refused.map(\.refusal.reason) == [.tooDeep], "depth \(depth)")
        }
        let large = OTLPLogs.Limits(maximumDepth: 1_000, maximumEvents: 1, maximumEventSize: 1 << 20)
        #expect(try OTLPSample.lines(body(126), encoding, limits: large).items == [0])
        #expect(try OTLPSample.lines(body(127), encoding, limits: large).refused.count == 1)
    }

    @Test func `a resource that is nested too deeply refuses its records`() throws {
        var value = ProtobufMessage()
        for _ in 0..<61 { value = ProtobufMessage().message(5, ProtobufMessage().message(1, value)) }
        let resource = ProtobufMessage().attribute(1, "r", value)
        #expect(try OTLPSample.line(OTLPSample.record, resource: resource).hasPrefix("too_deep"))
    }

    @Test func `an event has at most the size that its source allows`() throws {
        let size = try OTLPSample.line(OTLPSample.record).utf8.count
        var limits = OTLPSample.limits
        limits.maximumEventSize = size
        #expect(try OTLPSample.lines(OTLPSample.request([OTLPSample.record]), limits: limits).items == [0])
        limits.maximumEventSize = size - 1
        let lines = try OTLPSample.lines(OTLPSample.request([OTLPSample.record]), limits: limits)
        #expect(lines.refused.map(\.refusal.reason) == [.tooLarge])
        #expect(lines.bytes.isEmpty)
        let resource = ProtobufMessage().attribute(1, "r", String(repeating: "r", count: size))
        let many = try OTLPSample.lines(
            OTLPSample.request(Array(repeating: OTLPSample.record, count: 100), resource: resource), limits: limits)
        #expect(many.refused.count == 100)
    }

    @Test func `the events of a request are bounded, though each repeats its resource`() throws {
        let limits = OTLPLogs.Limits(maximumDepth: 64, maximumEvents: 100_000, maximumEventSize: 1 << 20)
        let resource = ProtobufMessage().attribute(1, "r", String(repeating: "r", count: 100_000))
        func request(_ count: Int) -> [UInt8] {
            OTLPSample.request(Array(repeating: OTLPSample.record, count: count), resource: resource)
        }
        #expect(try OTLPSample.lines(request(40), limits: limits).items.count == 40)
        let problem = #expect(throws: RequestProblem.self) { try OTLPSample.lines(request(60), limits: limits) }
        #expect(problem?.reason == .tooLarge)
    }

    @Test(.timeLimit(.minutes(1))) func `many attributes take time in proportion to their count`() throws {
        // 100,000 attributes compared in pairs would take minutes.
        var record = OTLPSample.record
        let attribute = ProtobufMessage().attribute(6, "same", "").bytes
        record.bytes += Array(repeatElement(attribute, count: 100_000).joined())
        #expect(try OTLPSample.line(record).hasSuffix(#""properties":{"same":""}}"#))
        let scopes = ProtobufMessage(bytes: Array(repeatElement([0x12, 0x00] as [UInt8], count: 200_000).joined()))
        let resource = ProtobufMessage().attribute(1, "r", String(repeating: "r", count: 30_000))
        let empty = ProtobufMessage().message(
            1, ProtobufMessage(bytes: ProtobufMessage().message(1, resource).bytes + scopes.bytes)
        ).bytes
        #expect(try OTLPSample.lines(empty).count == 0)
    }
}
