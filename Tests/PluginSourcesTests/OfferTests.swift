import CPenstockPlugin
import CPluginChannel
import Events
import Foundation
import Platform
import PluginHosting
import Testing

@testable import PluginSources

/// The pieces that offers pass through.
@Suite struct OfferTests {
    private static func body(
        _ events: [String], lane: String = "a", position: [UInt8] = [1], count: UInt32? = nil, name: UInt32? = nil,
        positionLength: UInt32? = nil, lengths: [UInt32]? = nil, origin: String = "", originLength: UInt32? = nil,
        places: [(UInt64, UInt32)] = [], host: String = "", hostLength: UInt32? = nil, times: [Int64]? = nil,
        hasTimes: UInt32? = nil, separator: String = "\n"
    ) -> [UInt8] {
        var body = PluginProcess.bytes(
            of: plugin_offer(
                count: count ?? UInt32(events.count), name_length: name ?? UInt32(lane.utf8.count),
                position_length: positionLength ?? UInt32(position.count),
                origin_length: originLength ?? UInt32(origin.utf8.count),
                host_length: hostLength ?? UInt32(host.utf8.count), has_times: hasTimes ?? (times == nil ? 0 : 1)))
        for (position, part) in places {
            body += PluginProcess.bytes(of: penstock_place(position: position, part: part, reserved: 0))
        }
        for time in times ?? [] { body += PluginProcess.bytes(of: time) }
        for length in lengths ?? events.map({ UInt32($0.utf8.count) }) { body += PluginProcess.bytes(of: length) }
        return body + lane.utf8 + position + origin.utf8 + host.utf8 + events.flatMap { Array(($0 + separator).utf8) }
    }

    private static func lines(_ events: [String]) -> (lines: OfferLines, text: String, indices: [Int])? {
        guard let offer = ReceivedOffer(token: 1, body(events)) else { return nil }
        var lines = OfferLines()
        lines.write(offer, above: nil)
        return (lines, text(lines, offer), indices(lines, offer))
    }

    private static func text(_ lines: OfferLines, _ offer: ReceivedOffer) -> String {
        lines.withBytes(of: offer) { bytes in
            var copy: [UInt8] = []
            for index in bytes.indices { copy.append(bytes[index]) }
            return String(decoding: copy, as: UTF8.self)
        }
    }

    private static func indices(_ lines: OfferLines, _ offer: ReceivedOffer) -> [Int] {
        (0..<text(lines, offer).utf8.count(where: { $0 == 0x0A })).map { lines.index(of: $0) }
    }

    @Test func `an offer is read as it was sent`() throws {
        let offer = try #require(
            ReceivedOffer(token: .max, Self.body(["{}", "", "[1]"], lane: "é", position: [0, 255])))
        #expect(offer.token == .max)
        #expect(offer.lane == LanePosition(lane: "é", position: [0, 255]))
        #expect(offer.events.map { String(decoding: offer.bytes[$0], as: UTF8.self) } == ["{}", "", "[1]"])
        #expect(offer.cost == 256 + 3 * 64 + 5)
    }

    @Test func `an offer has the host that received its events first, and when`() throws {
        let offer = try #require(
            ReceivedOffer(token: 1, Self.body(["{}", "[1]"], host: "é.example", times: [.min, .max])))
        #expect(offer.host == "é.example" && offer.times == [.min, .max] && offer.areLines)
        #expect(offer.cost == 256 + 2 * 64 + 5)
        let none = try #require(ReceivedOffer(token: 1, Self.body(["{}"])))
        #expect(none.host == "" && none.times.isEmpty)
        let empty = try #require(ReceivedOffer(token: 1, Self.body([], host: "h", times: [])))
        #expect(empty.host == "h" && empty.times.isEmpty)
        let longest = String(repeating: "x", count: 255)
        #expect(ReceivedOffer(token: 1, Self.body(["{}"], host: longest)) != nil)
        for wrong in [longest + "x", "a\n", "\0"] {
            #expect(ReceivedOffer(token: 1, Self.body(["{}"], host: wrong)) == nil)
        }
        for length in [1, 256, UInt32.max] {
            #expect(ReceivedOffer(token: 1, Self.body(["{}"], hostLength: length)) == nil)
        }
        for number in [2, UInt32.max] {
            #expect(ReceivedOffer(token: 1, Self.body(["{}"], times: [1], hasTimes: number)) == nil)
        }
        #expect(ReceivedOffer(token: 1, Self.body(["{}"], hasTimes: 1)) == nil)
        #expect(ReceivedOffer(token: 1, Self.body(["{}", "{}"], times: [1])) == nil)
    }

    @Test(arguments: ["", " ", "\r"])
    func `an event without a line feed behind it is refused`(separator: String) {
        #expect(ReceivedOffer(token: 1, Self.body(["{}", "{}"], separator: separator)) == nil)
    }

    @Test func `a source is as late as its latest lane, and a lane as its newest event of the last seconds`() {
        var lag = SourceLag()
        let start = Instant(nanoseconds: 5)
        #expect(lag.lag(at: start) == nil)
        lag.note(.seconds(400), of: "a", at: start)
        #expect(lag.lag(at: start) == .seconds(400))
        // Another edge's events are new.
        lag.note(.seconds(2), of: "a", at: start + .seconds(1))
        lag.note(.seconds(300), of: "a", at: start + .seconds(2))
        lag.note(.seconds(30), of: "b", at: start + .seconds(9))
        #expect(lag.lag(at: start + .seconds(9)) == .seconds(30))
        // The next period still counts the one before.
        lag.note(.seconds(1), of: "b", at: start + .seconds(11))
        #expect(lag.lag(at: start + .seconds(11)) == .seconds(2))
        lag.note(.seconds(3), of: "b", at: start + .seconds(22))
        #expect(lag.lag(at: start + .seconds(22)) == .seconds(1))
        #expect(lag.lag(at: start + .seconds(30)) == .seconds(3))
        #expect(lag.lag(at: start + .seconds(41)) == .zero)
        for number in 0..<OpenLanes.limit + 5 { lag.note(.seconds(number), of: "\(number)", at: start + .seconds(50)) }
        #expect(lag.lag(at: start + .seconds(50)) == .seconds(OpenLanes.limit - 1))
    }

    private static let edge = "0190163d-8694-4b1a-9b7c-2f3e4d5c6b7A"

    @Test func `an offer with an origin has a place for each event`() throws {
        let places: [(UInt64, UInt32)] = [(0, 0), (.max, .max)]
        let offer = try #require(
            ReceivedOffer(token: 1, Self.body(["{}", "[1]"], position: [0, 255], origin: Self.edge, places: places)))
        #expect(offer.origin == OriginID(high: 0x0190_163d_8694_4b1a, low: 0x9b7c_2f3e_4d5c_6b7a))
        #expect(offer.places == places.map { OriginPlace(position: $0.0, part: $0.1) })
        #expect(offer.lane == LanePosition(lane: "a", position: [0, 255]))
        #expect(offer.events.map { String(decoding: offer.bytes[$0], as: UTF8.self) } == ["{}", "[1]"])
        let empty = try #require(ReceivedOffer(token: 1, Self.body([], origin: Self.edge)))
        #expect(empty.origin != nil && empty.places.isEmpty)
    }

    @Test(arguments: [
        "", "0190163d-8694-4b1a-9b7c-2f3e4d5c6b7", "0190163d_8694-4b1a-9b7c-2f3e4d5c6b7a",
        "0190163d-8694-4b1a-9b7c-2f3e4d5c6b7g", "0190163d86944b1a9b7c2f3e4d5c6b7a----",
    ])
    func `an origin that is no UUID is refused`(origin: String) {
        let body = Self.body(["{}"], origin: origin, originLength: 36, places: [(1, 0)])
        #expect(ReceivedOffer(token: 1, body) == nil)
    }

    @Test(arguments: [1, 35, 37, UInt32.max])
    func `an origin of another length is refused`(length: UInt32) {
        let body = Self.body(["{}"], origin: Self.edge, originLength: length, places: [(1, 0)])
        #expect(ReceivedOffer(token: 1, body) == nil)
    }

    @Test func `events that are not above the mark, nor above the one before, are left out`() throws {
        let places: [(UInt64, UInt32)] = [(1, 0), (2, 0), (2, 1), (2, 1), (3, 0), (1, 9), (.max, .max), (0, 0)]
        let events = (0..<places.count).map { "[\($0)]" }
        let offer = try #require(
            ReceivedOffer(
                token: 1,
                Self.body(
                    events, origin: Self.edge, places: places, times: (0..<Int64(places.count)).map { $0 })))
        var lines = OfferLines()
        for (mark, expected) in [
            (nil, [0, 1, 2, 4, 6]), (OriginPlace(position: 2, part: 0), [2, 4, 6]),
            (OriginPlace(position: .max, part: .max), []), (OriginPlace(position: 0, part: 0), [0, 1, 2, 4, 6]),
        ] {
            lines.write(offer, above: mark)
            #expect(Self.indices(lines, offer) == expected)
            #expect(Self.text(lines, offer) == expected.map { "[\($0)]\n" }.joined())
            #expect(lines.times(of: offer) == expected.map { Int64($0) })
            #expect(lines.repeated == places.count - expected.count)
        }
    }

    @Test(arguments: [0, 2, 65, 1001, 0x7FFF_FFFF, 0x8000_0000, UInt32.max - 1, UInt32.max])
    func `a number that does not fit the message is refused`(number: UInt32) {
        #expect(ReceivedOffer(token: 1, Self.body(["{}"], count: number)) == nil)
        #expect(ReceivedOffer(token: 1, Self.body(["{}"], name: number)) == nil)
        if number != 2 { #expect(ReceivedOffer(token: 1, Self.body(["{}"], lengths: [number])) == nil) }
        #expect(ReceivedOffer(token: 1, Self.body(["{}"], positionLength: number)) == nil)
        // Their sum, modulo 2^32, is right.
        let wrapping = Self.body(["{}", "{}"], lengths: [number, 4 &- number])
        #expect((ReceivedOffer(token: 1, wrapping) == nil) == (number != 2))
    }

    @Test(arguments: ["", "a\n", "\0", "\u{7F}", "\u{85}", String(repeating: "x", count: 65)])
    func `a wrong name of a partition is refused`(name: String) {
        #expect(ReceivedOffer(token: 1, Self.body(["{}"], lane: name)) == nil)
    }

    @Test func `an offer beyond the bounds is refused`() {
        let half = String(repeating: "x", count: 128 << 10)
        #expect(ReceivedOffer(token: 1, Self.body([half, half])) != nil)
        #expect(ReceivedOffer(token: 1, Self.body([half, half + "x"])) == nil)
        #expect(ReceivedOffer(token: 1, Self.body([half + half + "x"])) != nil)
        #expect(ReceivedOffer(token: 1, Self.body(["{}", "{}"]), maximumBytes: 3) == nil)
        #expect(ReceivedOffer(token: 1, Self.body(["{} {}"]), maximumBytes: 3) != nil)
        let largest = String(repeating: "x", count: Int(PLUGIN_OFFER_EVENT_BYTES))
        #expect(ReceivedOffer(token: 1, Self.body([largest])) != nil)
        #expect(ReceivedOffer(token: 1, Self.body([largest + "x"])) == nil)
        #expect(ReceivedOffer(token: 1, Self.body(Array(repeating: "", count: 1000))) != nil)
        #expect(ReceivedOffer(token: 1, Self.body(Array(repeating: "", count: 1001))) == nil)
    }

    @Test func `any bytes are either an offer within the bounds or refused`() {
        var random = SystemRandomNumberGenerator()
        let valid = Self.body(["{}", #"{"a":1}"#, ""], lane: "lane", position: [1, 2, 3])
        for _ in 0..<50_000 {
            var body = valid
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                body[Int.random(in: 0..<body.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            body.removeLast(Int.random(in: 0...3, using: &random))
            guard let offer = ReceivedOffer(token: 1, body) else { continue }
            var lines = OfferLines()
            lines.write(offer, above: nil)
            #expect(Self.indices(lines, offer).count + lines.refused.count == offer.events.count)
        }
    }

    @Test func `line feeds between tokens become spaces`() throws {
        let lines = try #require(Self.lines(["{\n\"a\\\"\"\n:\r\n1}\n", "{}", "{\"a\\\\\":\n\"b\"}"]))
        #expect(lines.text == "{ \"a\\\"\" :\r 1} \n{}\n{\"a\\\\\": \"b\"}\n")
        #expect(lines.indices == [0, 1, 2])
    }

    @Test(arguments: ["{\"a\n\":1}", "{\"a\\\"\n\":1}", "\"\\\\\\\"\n", "", " ", "\n\n", "\t\r\n "])
    func `an event with a line feed in a string, or without a token, is refused`(event: String) throws {
        let lines = try #require(Self.lines(["{}", event, "[]"]))
        #expect(lines.text == "{}\n[]\n")
        #expect(lines.indices == [0, 2])
        #expect(lines.lines.refused.map(\.index) == [1])
    }

    @Test func `the open partitions are bounded, and their positions printable`() {
        var lanes = OpenLanes()
        for number in 0...OpenLanes.limit { lanes.open("lane-\(number)") }
        #expect(lanes.count == OpenLanes.limit)
        lanes.store(LanePosition(lane: "lane-\(OpenLanes.limit)", position: [1]))
        #expect(lanes.count == OpenLanes.limit)
        #expect(lanes.first(3).map(\.name) == ["lane-0", "lane-1", "lane-10"])
        lanes.store(LanePosition(lane: "lane-0", position: Array("12".utf8)))
        #expect(lanes.first(1).first?.position == "12")
        lanes.store(LanePosition(lane: "lane-0", position: []))
        #expect(lanes.first(1).first?.position == nil)
        lanes.close("lane-0")
        #expect(lanes.count == OpenLanes.limit - 1)
        #expect(OpenLanes.printable([0x1B, 0x5B, 0xFF]) == "1b5bff")
        #expect(OpenLanes.printable(Array("\u{202E}".utf8)) == "e280ae")
    }

    @Test func `names with other bytes are other partitions`() {
        var lanes = OpenLanes()
        // Swift compares strings by characters, and these are the same one.
        for name in ["\u{E9}", "e\u{301}"] { lanes.open(name) }
        lanes.store(LanePosition(lane: "e\u{301}", position: [0x31]))
        #expect(lanes.count == 2)
        #expect(lanes.first(2).map(\.position) == ["1", nil])
        lanes.close("\u{E9}")
        #expect(lanes.first(2).map(\.position) == ["1"])
    }

    @Test func `stored offers are reported in order, as many as fit a message`() {
        var offers = StoredOffers()
        for number in 1...1000 {
            offers.append(
                AppendedOffer(
                    token: UInt64(number), cost: 1, lane: LanePosition(lane: "a", position: [1]), refusals: [],
                    end: UInt64(number)))
        }
        #expect(offers.take(durableEnd: 0).isEmpty)
        #expect(offers.nextEnd == 1)
        var tokens: [UInt64] = []
        while true {
            let taken = offers.take(durableEnd: 999)
            guard !taken.isEmpty else { break }
            #expect(taken.count <= 256)
            tokens += taken.map(\.token)
        }
        #expect(tokens == Array(1...999))
        #expect(offers.nextEnd == 1000)
        #expect(offers.take(durableEnd: .max).map(\.token) == [1000])
        #expect(offers.isEmpty && offers.nextEnd == nil)
    }

    @Test func `the wait between attempts doubles up to its bound`() {
        var pause = RetryPause(shortest: .seconds(1), longest: .seconds(60))
        let waits = (0..<8).map { _ in pause.take() }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        pause.reset()
        #expect(pause.take() == .seconds(1))
    }
}
