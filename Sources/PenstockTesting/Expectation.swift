public import Penstock

/// Starts an expectation about the events that an `Analytics` with a ``RecordingProvider`` has recorded so far.
///
/// ```swift
/// expect(analytics).tracked(ShopEvent.orderCompleted(orderID: "A1", total: 12.5))
/// expect(analytics).notTracked("Payment Failed")
/// ```
///
/// If an expectation is not met, the running test fails, in Swift Testing with an issue and in XCTest with a failure.
/// The message shows the difference from the most similar event.
public func expect(
    _ analytics: Analytics, fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
    column: UInt = #column
) -> Analytics.Expectation {
    let place = SourcePlace(fileID: fileID, filePath: filePath, line: line, column: column)
    guard let recording = analytics.recording else {
        place.fail(
            "this Analytics has no RecordingProvider: create it with Analytics(providers: [RecordingProvider()])")
        return Analytics.Expectation(events: [], isUsable: false, added: [], place: place)
    }
    return Analytics.Expectation(
        events: recording.events, isUsable: true, added: Set(analytics.superProperties.keys), place: place)
}

/// Starts an expectation about the events that a provider has kept so far.
public func expect(
    _ recording: RecordingProvider, fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
) -> Analytics.Expectation {
    let place = SourcePlace(fileID: fileID, filePath: filePath, line: line, column: column)
    return Analytics.Expectation(events: recording.events, isUsable: true, added: [], place: place)
}

extension Analytics {
    /// An expectation about the events that were recorded before it was created.
    public struct Expectation {
        let events: [RecordedEvent]
        /// False if there is no provider to check, which has already been reported.
        let isUsable: Bool
        /// Properties that events may have in addition to the expected ones: super properties.
        let added: Set<String>
        let place: SourcePlace

        /// Expects a track with the name and exactly the properties of the given event. Super properties are ignored.
        ///
        /// - Parameters:
        ///   - event: The expected event.
        ///   - times: The expected number of such tracks; at least one if nil.
        /// - Returns: This expectation, to chain further ones.
        @discardableResult
        public func tracked(_ event: some AnalyticsEvent, times: Int? = nil) -> Expectation {
            guard let expected = ExpectedTrack(event, place) else { return self }
            return tracked(expected, times: times)
        }

        /// Expects a track with the given name and exactly the given properties, for an event without its own type.
        @discardableResult
        public func tracked(_ name: String, _ properties: [String: PropertyValue], times: Int? = nil) -> Expectation {
            tracked(ExpectedTrack(name: name, properties: properties), times: times)
        }

        /// Expects a track with the given name and any properties.
        ///
        /// - Parameters:
        ///   - name: The expected name.
        ///   - times: The expected number of such tracks; at least one if nil.
        /// - Returns: This expectation, to chain further ones.
        @discardableResult
        public func tracked(_ name: String, times: Int? = nil) -> Expectation {
            let found = tracks.count { $0.name == name }
            if found != times ?? max(found, 1) {
                fail("expected \(Self.times(times)) a track \"\(name)\", found \(found)")
            }
            return self
        }

        /// Expects that no track with the name and the properties of the given event was recorded.
        @discardableResult
        public func notTracked(_ event: some AnalyticsEvent) -> Expectation { tracked(event, times: 0) }

        /// Expects that no track with the given name was recorded.
        @discardableResult
        public func notTracked(_ name: String) -> Expectation { tracked(name, times: 0) }

        /// Expects that the names of all tracks, in the order of recording, are the given ones.
        @discardableResult
        public func trackedNames(_ names: String...) -> Expectation {
            let found = tracks.map(\.name)
            if found != names { fail("expected these tracks, in this order: \(Self.list(names))") }
            return self
        }

        /// Expects that exactly the given tracks were recorded, in this order. The failure shows the first difference.
        ///
        /// ```swift
        /// expect(analytics).trackedExactly(ShopEvent.cartViewed, ShopEvent.orderCompleted(orderID: "A1", total: 12.5))
        /// ```
        @discardableResult
        public func trackedExactly(_ events: any AnalyticsEvent...) -> Expectation {
            trackedExactly(events.map { ExpectedTrack($0, place) })
        }

        /// Expects that exactly the given events of one type were recorded, in this order, and no other tracks.
        ///
        /// ```swift
        /// expect(analytics).trackedExactly(of: ShopEvent.self, .cartViewed, .orderCompleted(orderID: "A1", total: 1))
        /// ```
        @discardableResult
        public func trackedExactly<Event: AnalyticsEvent>(of type: Event.Type, _ events: Event...) -> Expectation {
            trackedExactly(events.map { ExpectedTrack($0, place) })
        }

        /// Expects that the given events of one type were recorded in this order, with any other tracks between them.
        @discardableResult
        public func trackedInOrder<Event: AnalyticsEvent>(of type: Event.Type, _ events: Event...) -> Expectation {
            let expected = events.compactMap { ExpectedTrack($0, place) }
            guard expected.count == events.count else { return self }
            var rest = tracks[...]
            for (number, event) in expected.enumerated() {
                guard let index = rest.firstIndex(where: { event.matches($0, without: added) }) else {
                    let before = number == 0 ? "" : " after track number \(rest.startIndex)"
                    fail("expected these tracks in order; number \(number + 1) is missing\(before):\n  - \(event)")
                    return self
                }
                rest = rest[(index + 1)...]
            }
            return self
        }

        private func trackedExactly(_ events: [ExpectedTrack?]) -> Expectation {
            let expected = events.compactMap(\.self)
            // An event that cannot be recorded has been reported.
            guard expected.count == events.count else { return self }
            let found = tracks
            let number = zip(expected, found).enumerated().first { !$0.element.0.matches($0.element.1, without: added) }
            if let (index, (wanted, event)) = number {
                fail(
                    "expected exactly \(Self.tracks(expected.count)), found \(found.count); "
                        + "the first difference is track number \(index + 1):\n"
                        + wanted.difference(from: event, without: added))
            } else if expected.count > found.count {
                let missing = expected[found.count...].map { "\n  - \($0)" }.joined()
                fail(
                    "expected exactly \(Self.tracks(expected.count)), found \(found.count); "
                        + "these are missing:\(missing)"
                )
            } else if expected.count < found.count {
                let more = found[expected.count...].map { "\n  + \(ExpectedTrack($0))" }.joined()
                fail(
                    "expected exactly \(Self.tracks(expected.count)), found \(found.count); these are too many:\(more)")
            }
            return self
        }

        private static func tracks(_ count: Int) -> String { "\(count) \(count == 1 ? "track" : "tracks")" }

        /// Expects an identify of the given user that has the given traits, and possibly others.
        @discardableResult
        public func identified(_ userID: String, traits: [String: PropertyValue] = [:]) -> Expectation {
            let ofUser = events.filter { $0.kind == .identify && $0.userID == userID }
            if ofUser.contains(where: { event in traits.allSatisfy { event.traits[$0.key] == $0.value } }) {
                return self
            }
            guard let nearest = ofUser.last else {
                let users = events.filter { $0.kind == .identify }.compactMap(\.userID)
                fail("expected an identify of \"\(userID)\"; identified: \(Self.list(users))")
                return self
            }
            let others = nearest.traits.filter { traits[$0.key] != nil }
            fail(
                "expected an identify of \"\(userID)\" with other traits\n"
                    + PropertyDifference(traits, others).description
            )
            return self
        }

        /// Expects a page or screen view with the given name.
        @discardableResult
        public func viewed(_ name: String) -> Expectation {
            let views = events.filter { $0.kind == .page || $0.kind == .screen }.map(\.name)
            if !views.contains(name) { fail("expected a page or screen \"\(name)\"; seen: \(Self.list(views))") }
            return self
        }

        /// Expects that no event of any kind was recorded.
        public func recordedNothing() {
            if !events.isEmpty { fail("expected nothing") }
        }

        private var tracks: [RecordedEvent] { events.filter { $0.kind == .track } }

        private func tracked(_ expected: ExpectedTrack, times: Int?) -> Expectation {
            let found = tracks.count { expected.matches($0, without: added) }
            guard found != times ?? max(found, 1) else { return self }
            var message = "expected \(Self.times(times)) a track \"\(expected.name)\", found \(found)"
            if found == 0, let (number, nearest) = expected.nearest(in: tracks) {
                message += "; the nearest is track number \(number + 1)"
                if nearest.name != expected.name { message += ", \"\(nearest.name)\"" }
                let others = nearest.properties.filter { !added.contains($0.key) || expected.properties[$0.key] != nil }
                message += ":\n" + PropertyDifference(expected.properties, others).description
            }
            fail(message)
            return self
        }

        private func fail(_ message: String) {
            guard isUsable else { return }
            place.fail("\(message)\nrecorded tracks: \(Self.list(tracks.map(\.name)))")
        }

        private static func times(_ times: Int?) -> String {
            switch times {
            case nil: "at least once"
            case 0: "never"
            case 1: "once"
            case let times?: "\(times) times"
            }
        }

        private static func list(_ names: [String]) -> String {
            names.isEmpty ? "none" : names.map { "\"\($0)\"" }.joined(separator: ", ")
        }
    }
}
