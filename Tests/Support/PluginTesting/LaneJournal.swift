import Foundation
import Synchronization

/// What a host's journal holds of a source. It outlives the instances of the source.
package final class LaneJournal: Sendable {
    package struct Contents: Sendable {
        package var lanes: [String: [UInt8]] = [:]
        package var events: [(lane: String, text: String)] = []
        /// The reasons of refused events.
        package var refusals: [String] = []
        /// How far each lane has brought in the events of each origin.
        package var marks: [String: [String: Place]] = [:]
        /// How many events were left out because of them.
        package var repeated = 0

        package func texts(_ lane: String) -> [String] { events.filter { $0.lane == lane }.map(\.text) }
    }

    /// The place of an event in the journal of its origin.
    package struct Place: Sendable, Comparable {
        package var position: UInt64
        package var part: UInt32

        package static func < (one: Place, other: Place) -> Bool {
            (one.position, one.part) < (other.position, other.part)
        }
    }

    /// Each journal has an id of its own.
    package let id = UUID().uuidString
    private let contents = Mutex(Contents())

    package init(_ lanes: KeyValuePairs<String, String> = [:]) {
        contents.withLock { contents in
            for (lane, position) in lanes { contents.lanes[lane] = Array(position.utf8) }
        }
    }

    package var now: Contents { contents.withLock(\.self) }
    package var count: Int { contents.withLock(\.events.count) }
    package var texts: [String] { contents.withLock { $0.events.map(\.text) } }

    package func position(_ lane: String) -> String? {
        contents.withLock { $0.lanes[lane].map { String(decoding: $0, as: UTF8.self) } }
    }

    /// One commit. What is not an object in braces is refused.
    /// - Returns: the refused events' indices.
    func commit(_ offer: StageState.Offer) -> [Int] {
        contents.withLock { contents in
            let lane = offer.lane
            contents.lanes[lane] = offer.position.isEmpty ? nil : offer.position
            var refused: [Int] = []
            for (index, event) in offer.events.enumerated() {
                if let origin = offer.origin {
                    if let mark = contents.marks[lane]?[origin], offer.places[index] <= mark {
                        contents.repeated += 1
                        continue
                    }
                    contents.marks[lane, default: [:]][origin] = offer.places[index]
                }
                guard event.hasPrefix("{"), event.hasSuffix("}") else {
                    refused.append(index)
                    contents.refusals.append("not a JSON object: \(event.prefix(100))")
                    continue
                }
                contents.events.append((lane, event))
            }
            return refused
        }
    }
}
