import Penstock

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
) -> Expectation {
    let place = SourcePlace(fileID: fileID, filePath: filePath, line: line, column: column)
    guard let recording = analytics.recording else {
        place.fail(
            "this Analytics has no RecordingProvider: create it with Analytics(providers: [RecordingProvider()])")
        return Expectation(events: [], isUsable: false, added: [], place: place)
    }
    return Expectation(
        events: recording.events, isUsable: true, added: Set(analytics.superProperties.keys), place: place)
}

/// Starts an expectation about the events that a provider has kept so far.
public func expect(
    _ recording: RecordingProvider, fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
) -> Expectation {
    let place = SourcePlace(fileID: fileID, filePath: filePath, line: line, column: column)
    return Expectation(events: recording.events, isUsable: true, added: [], place: place)
}

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

    /// Expects an identify of the given user that has the given traits, and possibly others.
    @discardableResult
    public func identified(_ userID: String, traits: [String: PropertyValue] = [:]) -> Expectation {
        let ofUser = events.filter { $0.kind == .identify && $0.userID == userID }
        if ofUser.contains(where: { event in traits.allSatisfy { event.traits[$0.key] == $0.value } }) { return self }
        guard let nearest = ofUser.last else {
            let users = events.filter { $0.kind == .identify }.compactMap(\.userID)
            fail("expected an identify of \"\(userID)\"; identified: \(Self.list(users))")
            return self
        }
        let others = nearest.traits.filter { traits[$0.key] != nil }
        fail(
            "expected an identify of \"\(userID)\" with other traits\n" + PropertyDifference(traits, others).description
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
