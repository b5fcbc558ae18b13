import Assembly
import DaemonConfiguration
import Routing

/// A destination in two configurations.
struct DestinationPair: Sendable {
    enum State: Sendable {
        /// In both configurations.
        case kept
        /// Only in the new configuration.
        case added
        /// Only in the old configuration.
        case removed
        /// It has another name in the new configuration, and the same target.
        case renamed
    }

    /// A setting that differs. The texts are for people, with secrets by name; nil: not set.
    struct Setting: Sendable, Equatable {
        var key: String
        var before: String?
        var after: String?
    }

    var old: Configuration.Destination?
    var new: Configuration.Destination?
    /// Nothing that decides about the destination's events differs, so no event needs to be compared.
    private(set) var isIdentical = false
    /// Settings of the target and of its requests: all events are sent elsewhere, or in another way.
    private(set) var target: [Setting] = []
    /// Other settings that differ. They do not change what is sent.
    private(set) var others: [String] = []

    var name: String { new?.name ?? old?.name ?? "" }

    var state: State {
        guard let old else { return .added }
        guard let new else { return .removed }
        return old.name == new.name ? .kept : .renamed
    }

    private init(_ old: Configuration.Destination, _ new: Configuration.Destination) {
        self.old = old
        self.new = new
        target = TargetSettings.differing(old.kind, new.kind)
        func note(_ key: String, _ isSame: Bool) { if !isSame { others.append(key) } }
        note("start", old.start == new.start)
        note("batch", old.batch == new.batch)
        note("in_flight", old.inFlight == new.inFlight)
        note("rate_limit", old.rateLimit == new.rateLimit)
        note("order", old.order == new.order)
        note("retry", old.retry == new.retry)
        note("dead_letters", old.deadLetters == new.deadLetters)
        note("replay", old.replay == new.replay)
        if target.isEmpty, TargetSettings.withoutLimits(old.kind) != TargetSettings.withoutLimits(new.kind) {
            others.append(TargetSettings.rest(of: new.kind))
        }
    }

    private init(old: Configuration.Destination?, new: Configuration.Destination?) {
        self.old = old
        self.new = new
    }

    /// The destinations of both configurations: those of the new one in its order, then the removed ones.
    static func pairs(_ old: Configuration, _ new: Configuration) -> [DestinationPair] {
        let before = Dictionary(old.destinations.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let after = Set(new.destinations.map(\.name))
        var removed = old.destinations.filter { !after.contains($0.name) }
        var pairs = new.destinations.map { destination in
            if let earlier = before[destination.name] { return DestinationPair(earlier, destination) }
            // A removed destination with the same target is this one under another name.
            if let place = removed.firstIndex(where: { $0.kind == destination.kind }) {
                return DestinationPair(removed.remove(at: place), destination)
            }
            return DestinationPair(old: nil, new: destination)
        }
        pairs += removed.map { DestinationPair(old: $0, new: nil) }
        for index in pairs.indices { pairs[index].isIdentical = pairs[index].decidesAlike(old, new) }
        return pairs
    }

    /// Compares everything that decides which events the destination gets, and in which form.
    private func decidesAlike(_ before: Configuration, _ after: Configuration) -> Bool {
        guard let old, let new, old.name == new.name, old.preset == new.preset else { return false }
        return old.rules == new.rules && old.mapping == new.mapping && old.outputs == new.outputs
            && old.maximumEventSize == new.maximumEventSize && before.pipeline == after.pipeline
            && Self.routes(to: old, before) == Self.routes(to: new, after) && limits(of: old) == limits(of: new)
    }

    /// The rules of the routes to a destination, in order. A route's name decides nothing.
    private static func routes(to destination: Configuration.Destination, _ configuration: Configuration) -> [Rules] {
        configuration.routes.filter { $0.to.contains(destination.name) }.map(\.rules)
    }

    /// What makes an HTTP destination refuse an event before it is sent.
    private func limits(of destination: Configuration.Destination) -> [Configuration.HTTP.Refusing] {
        guard case .http(let http) = destination.kind else { return [] }
        return ([http] + http.alternatives).map(\.refusing)
    }
}

extension Configuration.HTTP {
    /// The settings because of which an event may be refused before it is sent.
    fileprivate struct Refusing: Equatable {
        var limits: LimitSet
        var url: ConcealedText
        var headers: [Header]
        var hasBody: Bool
    }

    fileprivate var refusing: Refusing { Refusing(limits: limits, url: urlText, headers: headers, hasBody: hasBody) }
}
