import Foundation

/// What `penstock tap` asks for: `GET /tap?stage=sent,refused&destination=NAME&where=FQL&limit=N&rate=N`. The answer is
/// a stream of lines, one record each (the book's Debugging.md). A record has a `stage`; a line without one is a
/// `TapNotice`.
package struct TapOrder: Sendable, Equatable {
    package enum Stage: String, Sendable, CaseIterable {
        /// A source's event is on disk.
        case accepted
        /// A destination's routes, filters and transforms have decided about an event.
        case routed
        /// A destination was given an event, and its outcome is known.
        case sent
        /// A source has refused an event, or an event has become a dead letter.
        case refused
    }

    package static let path = "/tap"

    package var stages: Set<Stage>
    /// nil: all.
    package var destination: String?
    /// A filter (FQL) for the events.
    package var condition: String?
    /// The number of records after which the stream ends; nil: it does not end by itself.
    package var limit: Int?
    /// A sample of at most so many records a second; nil: all records, up to the tap's usual limit. A sampled tap looks
    /// at few of the events when many pass, so that it costs little.
    package var rate: Int?

    /// The valid range of `rate`.
    package static let rates = 1...5_000

    package init(
        stages: Set<Stage>, destination: String? = nil, condition: String? = nil, limit: Int? = nil, rate: Int? = nil
    ) {
        self.rate = rate
        self.stages = stages
        self.destination = destination
        self.condition = condition
        self.limit = limit
    }

    /// The request's query.
    package var query: [String: String] {
        var query = ["stage": stages.map(\.rawValue).sorted().joined(separator: ",")]
        query["destination"] = destination
        query["where"] = condition
        query["limit"] = limit.map { "\($0)" }
        query["rate"] = rate.map { "\($0)" }
        return query
    }

    /// A query that is not valid.
    package struct Fault: Error, Sendable, CustomStringConvertible {
        package var description: String
    }

    package init(query: [String: String]) throws(Fault) {
        destination = query["destination"]
        condition = query["where"]
        if let text = query["limit"] {
            guard let number = Int(text), number > 0 else {
                throw Fault(description: "limit=\(text.prefix(80)) is not a whole number above 0")
            }
            limit = number
        }
        if let text = query["rate"] {
            guard let number = Int(text), Self.rates.contains(number) else {
                throw Fault(
                    description: "rate=\(text.prefix(80)) is not a whole number from \(Self.rates.lowerBound) to"
                        + " \(Self.rates.upperBound)")
            }
            rate = number
        }
        stages = []
        let names = query["stage"] ?? (destination == nil ? "accepted" : "sent")
        for name in names.split(separator: ",", maxSplits: Stage.allCases.count) {
            guard let stage = Stage(rawValue: String(name)) else {
                let known = Stage.allCases.map(\.rawValue).joined(separator: ", ")
                throw Fault(description: "stage=\(names.prefix(80)): the stages are \(known)")
            }
            stages.insert(stage)
        }
        if stages.isEmpty { throw Fault(description: "stage= names no stage") }
    }
}

/// A line of a tap's stream that is no record.
package struct TapNotice: Codable, Sendable, Equatable {
    /// The number of events so far that passed and are not in the stream: more passed than a tap takes, or the client
    /// reads too slowly.
    package var missed: UInt64?
    /// Why the daemon ends the stream.
    package var ended: String?

    package init(missed: UInt64? = nil, ended: String? = nil) {
        self.missed = missed
        self.ended = ended
    }

    /// - Returns: nil if the line is a record.
    package init?(_ line: [UInt8]) {
        guard !line.starts(with: Self.record), let notice = try? JSONDecoder().decode(Self.self, from: Data(line))
        else {
            return nil
        }
        self = notice
    }

    /// The first bytes of every record.
    private static let record = Array(#"{"stage":"#.utf8)

    /// Without a line feed.
    package var line: [UInt8] { Array(((try? ControlReply.json(self)) ?? []).dropLast()) }
}
