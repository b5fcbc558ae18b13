import Foundation
import Synchronization

/// What a host's journal holds of a source. It outlives the instances of the source.
package final class LaneJournal: Sendable {
    package struct Contents: Sendable {
        package var lanes: [String: [UInt8]] = [:]
        package var events: [(lane: String, text: String)] = []
        /// The reasons of refused events.
        package var refusals: [String] = []

        package func texts(_ lane: String) -> [String] { events.filter { $0.lane == lane }.map(\.text) }
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
    func commit(_ lane: String, _ position: [UInt8], _ events: [String]) -> [Int] {
        contents.withLock { contents in
            contents.lanes[lane] = position.isEmpty ? nil : position
            var refused: [Int] = []
            for (index, event) in events.enumerated() {
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
