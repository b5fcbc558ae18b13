import Events

/// What an earlier host told about a batch's events, before the position of their lane. Format.md specifies the layout.
struct ReceiptRecord: Equatable {
    /// Empty: not known.
    var host: String
    /// When each of the batch's events was received, in nanoseconds since 1970-01-01 UTC; none: not known.
    var times: [Int64]

    /// The flag of a batch with a lane that has such a record.
    static let flag: UInt16 = 4
    private static let fixedSize = 8
    /// The longest name of a host; a longer one is left out.
    static let hostLimit = 255

    /// - Parameter events: those of the batch.
    init(_ receipt: EarlierReceipt, of events: Span<ScannedEvent>) {
        host = receipt.host.utf8.count <= Self.hostLimit ? receipt.host : ""
        times = []
        guard !receipt.times.isEmpty else { return }
        times.reserveCapacity(events.count)
        for index in events.indices {
            let line = Int(events[index].line)
            guard line < receipt.times.count else {
                times = []
                return
            }
            times.append(receipt.times[line])
        }
    }

    /// The bytes that the record takes in a batch.
    var size: Int { times.count * 8 + host.utf8.count.paddedTo8 + Self.fixedSize }

    /// Appends the record: the times, the host's name, zeros up to a multiple of eight, then the numbers, so that it
    /// can be found from its end.
    func append(to bytes: inout [UInt8]) {
        for time in times { bytes.append(number: time) }
        bytes += host.utf8
        bytes.pad()
        bytes.append(number: UInt32(clamping: times.count))
        bytes.append(number: UInt32(clamping: host.utf8.count))
    }

    /// Finds the record that ends at a place of a payload whose checksum matches.
    /// - Parameter count: the number of events in the batch.
    /// - Returns: the host, and where the times start, nil if they are not known. nil: the record is not valid.
    static func find(_ payload: RawSpan, endingAt end: Int, count: Int) -> (host: String, times: Int?)? {
        let numbers = end - fixedSize
        guard numbers >= 0, end <= payload.byteCount else { return nil }
        let known = Int(payload.number(UInt32.self, at: numbers))
        let length = Int(payload.number(UInt32.self, at: numbers + 4))
        let name = numbers - length.paddedTo8
        guard length <= hostLimit, name >= 0, known == 0 || known == count, name / 8 >= known else { return nil }
        let host = length == 0 ? "" : String(decoding: payload.array(name..<name + length), as: UTF8.self)
        return (host, known == 0 ? nil : name - known * 8)
    }
}

/// When the events of a batch were received.
struct ReceiveTimes {
    /// The host that received them first; empty: another one, whose name is not known; nil: this one.
    let host: String?
    private let arrival: Int64
    /// Where the first receive times lie, counted from the start of the bytes that hold the payload.
    private let times: Int?

    /// - Parameters:
    ///   - payload: of the batch.
    ///   - start: where it starts in the bytes that `first` gets.
    init(_ header: BatchHeader, _ payload: RawSpan, at start: Int = 0) {
        arrival = header.receivedAt
        let found =
            header.flags & ReceiptRecord.flag == 0
            ? nil : LaneRecord.receipt(endOf: payload, flags: header.flags, count: Int(header.count))
        host = found?.host
        times = found?.times.map { $0 + start }
    }

    /// When this host received an event.
    @inline(__always)
    func here(_ delay: UInt16) -> Int64 { arrival &+ Int64(delay) &* 1_000_000 }

    /// When the first host received it.
    /// - Parameters:
    ///   - number: of the event in its batch.
    ///   - bytes: those that hold the payload.
    @inline(__always)
    func first(_ number: Int, _ delay: UInt16, in bytes: RawSpan) -> Int64 {
        times.map { bytes.number(Int64.self, at: $0 + number * 8) } ?? here(delay)
    }
}
