import FleetFormat
import Testing

/// What a body is, before and after compression.
@Suite struct FleetBodyTests {
    private func body(_ events: [(UInt64, UInt32, Int64, String)]) -> [UInt8] {
        var body: [UInt8] = []
        FleetBody.append(
            events.map { (place: FleetPlace(position: $0.0, part: $0.1), receivedAt: $0.2) }, to: &body)
        for event in events { body += event.3.utf8 + [10] }
        return body
    }

    @Test func `events are read as they were written, at the ends of every type`() throws {
        let events: [(UInt64, UInt32, Int64, String)] = [
            (0, 0, 0, "{}"), (0, 1, .max, #"{"a":"é"}"#), (1, .max, .min, "[]"), (127, 0, -1, "1"),
            (128, 0, 1_700_000_000_000_000_000, "null"), (.max - 1, 7, 1_700_000_000_000_000_001, "{}"),
            (.max, .max, .min, "{}"),
        ]
        let bytes = body(events)
        let read = try #require(FleetBody.read(bytes))
        #expect(read.map(\.place) == events.map { FleetPlace(position: $0.0, part: $0.1) })
        #expect(read.map(\.receivedAt) == events.map(\.2))
        #expect(read.map { String(decoding: bytes[$0.range], as: UTF8.self) } == events.map(\.3))
        #expect(FleetBody.read(body([])) == [])
    }

    @Test func `any bytes are events within the body, or refused`() {
        var random = SystemRandomNumberGenerator()
        let whole = body((0..<20).map { (UInt64($0 * 1000), 0, Int64($0), #"{"n":\#($0)}"#) })
        for length in 0..<whole.count { #expect(FleetBody.read(Array(whole[..<length])) == nil) }
        #expect(FleetBody.read(whole + [0x7B]) == nil && FleetBody.read(whole + [0x0A]) == nil)
        for _ in 0..<50_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            for event in FleetBody.read(bytes) ?? [] {
                #expect(event.range.lowerBound >= 4 && event.range.upperBound < bytes.count)
            }
        }
        // An event of a byte takes far more memory than that.
        let small = (0...FleetBody.maximumEvents).map { (UInt64($0), 0 as UInt32, 0 as Int64, "1") }
        #expect(FleetBody.read(body(small)) == nil)
        #expect(FleetBody.read(body(small.dropLast()))?.count == FleetBody.maximumEvents)
        // Counts that no body of this size can have, and numbers that do not end.
        for count in [[255, 255, 255, 255], [255, 255, 255, 127], [2, 0, 0, 0]] as [[UInt8]] {
            #expect(FleetBody.read(count + Array(repeating: 0x80, count: 100)) == nil)
            #expect(FleetBody.read(count + Array(repeating: 0x0A, count: 3)) == nil)
        }
    }

    @Test(arguments: [nil, -7, 1, 3, 19])
    func `a body is expanded as it was`(level: Int?) {
        let bytes = body((0..<1000).map { (UInt64($0), 0, Int64($0), #"{"event":"Order","n":\#($0)}"#) })
        let frame = FleetCompressor(level: level).compress(bytes.span)
        #expect(frame.count < bytes.count / 2)
        let expander = FleetExpander(limit: bytes.count)
        unsafe frame.withUnsafeBytes { #expect(unsafe expander.expand($0) == bytes) }
        let smaller = FleetExpander(limit: bytes.count - 1)
        unsafe frame.withUnsafeBytes { #expect(unsafe smaller.expand($0) == nil) }
        for length in [0, 1, 4, 17, frame.count - 1] {
            unsafe Array(frame[..<length]).withUnsafeBytes { #expect(unsafe expander.expand($0) == nil) }
        }
        // Every flipped bit is found: the frame has a checksum.
        for place in stride(from: 0, to: frame.count, by: max(1, frame.count / 200)) {
            var damaged = frame
            damaged[place] ^= 1 << UInt8(place % 8)
            let result = unsafe damaged.withUnsafeBytes { unsafe expander.expand($0) }
            #expect(result == nil || result == bytes)
        }
    }

    @Test func `large and small bodies in turn are expanded as they were`() {
        let compressor = FleetCompressor(level: nil)
        let expander = FleetExpander(limit: 1 << 20)
        for count in [1, 5000, 2, 3, 6000, 7000, 1] {
            let bytes = body((0..<count).map { (UInt64($0), 0, Int64($0), #"{"event":"Order","n":\#($0)}"#) })
            let frame = compressor.compress(bytes.span)
            unsafe frame.withUnsafeBytes { #expect(unsafe expander.expand($0) == bytes) }
        }
    }

    @Test func `users are spread evenly, and one user stays in one partition`() {
        for count in [1, 2, 3, 16, 64, 1000] {
            var sizes = Array(repeating: 0, count: count)
            for user in 0..<count * 200 {
                sizes[FleetPartition.of("user-\(user)".utf8, position: 1, count: count)] += 1
            }
            #expect(sizes.allSatisfy { (100...300).contains($0) }, "\(count): \(sizes)")
        }
        let user = "u".utf8
        #expect(
            FleetPartition.of(user, position: 1, count: 64) == FleetPartition.of(user, position: 9, count: 64))
        #expect(Set((0..<100).map { FleetPartition.of("".utf8, position: $0, count: 8) }).count == 8)
        // Other programs may compute it: it never changes.
        #expect(FleetPartition.of("user-1".utf8, position: 0, count: 64) == 5)
        #expect(FleetPartition.of("".utf8, position: 7, count: 64) == 29)
    }
}
