import Delivery
import Events
import Platform

/// The part of a batch that is written to one file with one write.
struct FileShare {
    var path: String
    /// The time window of its first event.
    var window: Int64
    /// Its range in the batch's payload; nil: it is in `bytes`.
    var slice: Range<Int>?
    var bytes: [UInt8] = []
    /// The most bytes that it may have.
    var room = Int.max
}

/// Divides batches into shares. One thread.
///
/// A division ends before the first event that would make a file too large, or that belongs to a later window than its
/// file's share. Before that event, files may have to be renamed and the cursor set to it. The events of one position
/// are never divided, because the cursor can't lie between them.
final class BatchDivision {
    private let options: FileDestinationOptions
    private var template: PathTemplate
    private let fields: PathReader
    private let rows: CSVRows?
    /// The encoded values of the current event, each followed by a slash.
    private var key: [UInt8] = []

    var isFixed: Bool { template.isFixed }
    /// The beginning of each new file, uncompressed.
    var header: [UInt8] { rows?.header ?? [] }
    /// Events' values are part of the path.
    var hasValues: Bool { !template.fields.isEmpty }

    init(_ options: FileDestinationOptions) throws {
        self.options = options
        try PathNames.checkLengths(in: options.path, rotates: options.rotateSize != nil || options.rotateEvery != nil)
        template = try PathTemplate(options.path, timezone: options.timezone)
        fields = PathReader(PathSet(template.fields))
        rows = if case .csv(let columns) = options.format { CSVRows(columns) } else { nil }
    }

    /// The path, if the template has no values.
    func path(at time: Int64) throws -> String { try template.filled(at: time).path }

    func window(_ time: Int64) -> Int64 {
        guard let every = options.rotateEvery?.inNanoseconds, every > 0 else { return 0 }
        return time >= 0 ? time / every : (time + 1) / every - 1
    }

    /// The shares of the events from `start` on, and the index at which the next division begins.
    /// - Parameters:
    ///   - room: the bytes that the file at this path has left, or that a new file has if `count` bytes don't fit.
    ///   - admit: returns the path to use for a path that no share has yet.
    func divide(
        _ batch: OutboundBatch, from start: Int, room: (_ path: String, _ count: Int) throws -> Int,
        admit: (_ path: String, _ overflow: () -> String) throws -> String
    ) throws -> (shares: [FileShare], end: Int) {
        guard batch.payload.count >= (batch.events.last?.payload.upperBound ?? -1) + 1 else {
            throw FileDestinationError("an event's payload is outside of its batch")
        }
        return rows == nil && !hasValues
            ? try slice(batch, from: start, room: room) : try collect(batch, from: start, room: room, admit: admit)
    }

    // MARK: One file, whose share is a slice of the payload

    private func slice(
        _ batch: OutboundBatch, from start: Int, room: (String, Int) throws -> Int
    ) throws -> (shares: [FileShare], end: Int) {
        let first = batch.events[start]
        var filled = try template.filled(at: first.receivedAt)
        let path = filled.path
        let newest = window(first.receivedAt)
        let begin = first.payload.lowerBound
        let room = try room(path, first.payload.count + 1)
        var end = start + 1
        if template.isFixed, options.rotateEvery == nil, room == .max {
            end = batch.events.count
        } else {
            while end < batch.events.count {
                let event = batch.events[end]
                if event.position == batch.events[end - 1].position {
                    end += 1
                    continue
                }
                var next = filled
                if !filled.holds(event.receivedAt) { next = try template.filled(at: event.receivedAt) }
                // Compared only if the times differ: nearly all events fall into the same minute.
                guard next == filled || next.path == path, window(event.receivedAt) <= newest,
                    event.payload.upperBound + 1 - begin <= room
                else { break }
                filled = next
                end += 1
            }
        }
        let slice = begin..<batch.events[end - 1].payload.upperBound + 1
        return ([FileShare(path: path, window: newest, slice: slice)], end)
    }

    // MARK: Several files, or rows

    private func collect(
        _ batch: OutboundBatch, from start: Int, room: (String, Int) throws -> Int,
        admit: (String, () -> String) throws -> String
    ) throws -> (shares: [FileShare], end: Int) {
        var shares: [FileShare] = []
        var numbers: [String: Int] = [:]
        /// Keyed by the values, for as long as the time's part of the path is valid.
        var known: [[UInt8]: Int] = [:]
        var filled: PathTemplate.Filled?
        var place = start
        while place < batch.events.count {
            var end = place + 1
            while end < batch.events.count, batch.events[end].position == batch.events[place].position { end += 1 }
            // Remembers the lengths, to remove this position's events if they don't fit.
            let before = shares.map(\.bytes.count)
            var fits = true
            for event in batch.events[place..<end] {
                let json = batch.payload.span.extracting(event.payload)
                if filled?.holds(event.receivedAt) != true {
                    filled = try template.filled(at: event.receivedAt)
                    known.removeAll(keepingCapacity: true)
                }
                guard let filled else { break }
                readKey(json)
                let number: Int
                if let found = known[key] {
                    number = found
                } else {
                    let path = try admit(filled.path(values(of: key))) {
                        filled.path(template.fields.map { _ in String(decoding: PathValue.overflow, as: UTF8.self) })
                    }
                    number = numbers[path] ?? shares.count
                    if number == shares.count {
                        shares.append(FileShare(path: path, window: window(event.receivedAt)))
                        numbers[path] = number
                    }
                    known[key] = number
                }
                let length = shares[number].bytes.count
                if let rows {
                    rows.append(json, to: &shares[number].bytes)
                } else {
                    shares[number].bytes.append(contentsOf: json)
                    shares[number].bytes.append(UInt8(ascii: "\n"))
                }
                let count = shares[number].bytes.count
                if length == 0 { shares[number].room = try room(shares[number].path, count) }
                if length > 0, count > shares[number].room || window(event.receivedAt) > shares[number].window {
                    fits = false
                }
            }
            guard fits || place == start else {
                for (number, count) in before.enumerated() {
                    shares[number].bytes.removeLast(shares[number].bytes.count - count)
                }
                shares.removeLast(shares.count - before.count)
                break
            }
            place = end
        }
        return (shares, place)
    }

    private func readKey(_ json: Span<UInt8>) {
        key.removeAll(keepingCapacity: true)
        _ = fields.read(json)
        for number in template.fields.indices {
            PathValue.append(fields[number], in: json, reserved: template.reserved[number], to: &key)
            key.append(UInt8(ascii: "/"))
        }
    }

    private func values(of key: [UInt8]) -> [String] {
        key.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
    }
}
