import Events

/// The position of a lane at the end of a batch of events. Format.md specifies the layout.
struct LaneRecord: Equatable {
    var lane: LanePosition
    /// The journal's position after the lane's previous batch with events; 0: there is none. If that batch was lost in
    /// an interrupted write, this record does not count.
    var previousEnd: UInt64
    /// What an earlier host told about the batch's events, to be written; nil: nothing, or it was not read.
    var receipt: ReceiptRecord?

    /// The flag of a batch that ends with a lane.
    static let flag: UInt16 = 1
    /// The flag of such a batch in which a mark lies before the lane.
    static let markFlag: UInt16 = 2
    private static let headerSize = 16
    private static let markSize = 32
    /// The maximum size of a record without a receipt.
    static let sizeLimit = headerSize + markSize + 2 * LanePosition.limit

    /// The flags of its batch.
    var flags: UInt16 {
        Self.flag | (lane.mark == nil ? 0 : Self.markFlag) | (receipt == nil ? 0 : ReceiptRecord.flag)
    }

    /// Appends the record: the receipt, the mark, the texts, zeros up to a multiple of eight, then the numbers, so that
    /// it can be found from its end.
    func append(to bytes: inout [UInt8]) {
        receipt?.append(to: &bytes)
        if let mark = lane.mark {
            bytes.append(number: mark.origin.high)
            bytes.append(number: mark.origin.low)
            bytes.append(number: mark.place.position)
            bytes.append(number: mark.place.part)
            bytes.append(number: UInt32(0))
        }
        bytes += lane.lane.utf8
        bytes += lane.position
        bytes.pad()
        bytes.append(number: previousEnd)
        bytes.append(number: UInt32(clamping: lane.lane.utf8.count))
        bytes.append(number: UInt32(clamping: lane.position.count))
    }

    /// Reads the record at the end of a payload whose checksum matches.
    /// - Parameter flags: of the batch.
    /// - Returns: nil if it is not valid.
    init?(endOf payload: RawSpan, flags: UInt16) {
        guard let (start, name, position, end) = Self.texts(endOf: payload) else { return nil }
        previousEnd = payload.number(UInt64.self, at: end)
        var mark: OriginMark?
        if flags & Self.markFlag != 0 {
            let place = start - Self.markSize
            guard place >= 0 else { return nil }
            mark = OriginMark(
                origin: OriginID(
                    high: payload.number(UInt64.self, at: place), low: payload.number(UInt64.self, at: place + 8)),
                place: OriginPlace(
                    position: payload.number(UInt64.self, at: place + 16),
                    part: payload.number(UInt32.self, at: place + 24)))
        }
        lane = LanePosition(
            lane: String(decoding: payload.array(start..<start + name), as: UTF8.self),
            position: payload.array(start + name..<start + name + position), mark: mark)
    }

    /// Finds what an earlier host told about the events of a batch.
    /// - Parameter count: their number.
    static func receipt(endOf payload: RawSpan, flags: UInt16, count: Int) -> (host: String, times: Int?)? {
        guard flags & flag != 0, flags & ReceiptRecord.flag != 0, let texts = texts(endOf: payload) else { return nil }
        let end = texts.start - (flags & markFlag == 0 ? 0 : markSize)
        return ReceiptRecord.find(payload, endingAt: end, count: count)
    }

    /// Where the texts start, their lengths, and where the numbers at the end start. nil: the record is not valid.
    private static func texts(endOf payload: RawSpan) -> (start: Int, name: Int, position: Int, numbers: Int)? {
        let numbers = payload.byteCount - headerSize
        guard numbers >= 0 else { return nil }
        let name = Int(payload.number(UInt32.self, at: numbers + 8))
        let position = Int(payload.number(UInt32.self, at: numbers + 12))
        let start = numbers - (name + position).paddedTo8
        guard (1...LanePosition.limit).contains(name), position <= LanePosition.limit, start >= 0 else { return nil }
        return (start, name, position, numbers)
    }

    /// What is stored of the lane after this record.
    /// - Parameters:
    ///   - end: the position after the batch.
    ///   - isEmpty: the batch has no events.
    func stored(end: UInt64, isEmpty: Bool) -> StoredLane {
        StoredLane(position: lane.position, end: isEmpty ? previousEnd : end)
    }

    init(_ lane: LanePosition, previousEnd: UInt64, _ receipt: ReceiptRecord? = nil) {
        self.lane = lane
        self.lane.receipt = nil
        self.previousEnd = previousEnd
        self.receipt = receipt
    }
}
