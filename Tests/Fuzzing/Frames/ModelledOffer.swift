import Events

/// An offer, as a source's process sends it.
struct ModelledOffer {
    var token: UInt64
    var lane: [UInt8]
    var position: [UInt8]
    /// nil: the events have none.
    var origin: OriginID?
    /// One for each event if there is an origin, otherwise none.
    var places: [OriginPlace] = []
    /// Empty: not known.
    var host: [UInt8]
    /// One for each event, or none.
    var times: [Int64] = []
    var events: [[UInt8]] = []

    /// The line feeds cost nothing.
    var cost: Int { 256 + events.reduce(0) { $0 + 64 + $1.count } }

    /// - Returns: nil if the bytes are not allowed.
    init?(_ message: ChannelModel.Message, maximumBytes: Int) {
        var rest = message.body[...]
        func take(_ count: Int) -> [UInt8]? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        guard let head = take(24) else { return nil }
        let numbers = (0..<6).map { Int(ChannelModel.number(head, $0 * 4)) }
        let count = numbers[0]
        guard count <= 1000, numbers[1] <= 64, numbers[2] <= 64, numbers[3] == 0 || numbers[3] == 36,
            numbers[4] <= 255, numbers[5] <= 1
        else { return nil }
        guard let places = take(numbers[3] == 0 ? 0 : count * 16), let times = take(numbers[5] * count * 8),
            let lengths = take(count * 4), let lane = take(numbers[1]), let position = take(numbers[2]),
            let origin = take(numbers[3]), let host = take(numbers[4]), isLane(lane),
            host.isEmpty || isName(host, 255)
        else { return nil }
        token = message.token
        self.lane = lane
        self.position = position
        self.host = host
        if !origin.isEmpty {
            guard let id = Self.uuid(origin) else { return nil }
            self.origin = id
            self.places = (0..<count).map {
                OriginPlace(
                    position: ChannelModel.longNumber(places, $0 * 16), part: ChannelModel.number(places, $0 * 16 + 8))
            }
        }
        if !times.isEmpty {
            self.times = (0..<count).map { Int64(bitPattern: ChannelModel.longNumber(times, $0 * 8)) }
        }
        for index in 0..<count {
            guard let event = take(Int(ChannelModel.number(lengths, index * 4))), take(1) == [10] else { return nil }
            events.append(event)
        }
        let size = events.reduce(0) { $0 + $1.count }
        guard rest.isEmpty, size <= (count == 1 ? (16 << 20) - 1024 : maximumBytes) else { return nil }
    }

    /// - Returns: nil if it is not the text of a UUID.
    private static func uuid(_ text: [UInt8]) -> OriginID? {
        let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let digits = parts.flatMap { $0 }
        guard parts.map(\.count) == [8, 4, 4, 4, 12],
            digits.allSatisfy({ "0123456789abcdefABCDEF".utf8.contains($0) }),
            let high = UInt64(String(decoding: digits.prefix(16), as: UTF8.self), radix: 16),
            let low = UInt64(String(decoding: digits.suffix(16), as: UTF8.self), radix: 16)
        else { return nil }
        return OriginID(high: high, low: low)
    }

    // MARK: Repeated events

    /// The indices of the events that the lane has not brought in before: above the mark, and above all places before
    /// them in the offer.
    /// - Parameter mark: nil: nothing of the origin was brought in.
    func newEvents(above mark: OriginPlace?) -> [Int] {
        guard origin != nil else { return Array(events.indices) }
        var highest = mark
        var new: [Int] = []
        for (index, place) in places.enumerated() where highest.map({ $0 < place }) ?? true {
            new.append(index)
            highest = place
        }
        return new
    }

    /// The mark that is stored with the offer; nil: none, because the offer does not move it.
    func mark(above mark: OriginPlace?) -> OriginMark? {
        guard let origin, let last = places.max(), mark.map({ $0 < last }) ?? true else { return nil }
        return OriginMark(origin: origin, place: last)
    }
}

/// Whether it is the name of a lane.
func isLane(_ name: [UInt8]) -> Bool { isName(name, 64) }

/// Whether it is UTF-8 without control characters: U+0000 to U+001F and U+007F to U+009F.
/// - Parameter limit: the most bytes that it may have. It has at least one.
func isName(_ name: [UInt8], _ limit: Int) -> Bool {
    let text = String(decoding: name, as: UTF8.self)
    return (1...limit).contains(name.count) && Array(text.utf8) == name
        && !text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
}
