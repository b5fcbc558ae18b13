import Events

/// Selects, by type and name, the routes of a destination that can match an event. With a hundred routes for a hundred
/// event names, only one filter is evaluated.
struct RouteIndex {
    /// A range of `routes`, which holds route numbers in order.
    private struct Run: BitwiseCopyable {
        var first: Int32
        var end: Int32
    }

    private var routes: [Int32] = []
    /// By a kind's raw value: the routes that can match this kind, whatever the event's name.
    private var byKind: [Run] = []
    /// By a name's number: the routes that match only events with certain names, including this one.
    private var byName: [Run] = []
    private var names = ByteStringSets()
    private let known: ByteStringSets.Member
    private let count: Int

    /// - Parameter filters: the filter of each route.
    init(_ filters: [Expression]) {
        let needs = filters.map { EventNeeds($0.folded) }
        count = filters.count
        // By bytes, as names are compared: Swift's strings are equal in other forms of Unicode, too.
        var numbers: [[UInt8]: Int] = [:]
        var all: [String] = []
        var named: [[Int32]] = []
        for (route, needs) in needs.enumerated() {
            for name in needs.names {
                let number = numbers[name] ?? all.count
                if number == all.count {
                    numbers[name] = number
                    all.append(String(decoding: name, as: UTF8.self))
                    named.append([])
                }
                named[number].append(Int32(route))
            }
        }
        known = names.add(all)
        byName = named.map { Self.add($0, to: &routes) }
        byKind = (UInt8(0)..<8).map { kind in
            let taking = needs.indices.filter { needs[$0].kinds & 1 << kind != 0 }
            return Self.add(taking.map(Int32.init), to: &routes)
        }
    }

    private static func add(_ numbers: [Int32], to routes: inout [Int32]) -> Run {
        let first = Int32(routes.count)
        routes += numbers
        return Run(first: first, end: Int32(routes.count))
    }

    /// Whether there may be an event that no route matches, by its type and name alone.
    var leavesOut: Bool {
        EventKind.allCases.contains { kind in
            let any = byKind[Int(kind.rawValue)]
            return any.first == any.end
        }
    }

    /// Whether a route may match the event. False is certain.
    func mayMatch(_ index: EventIndex, _ json: Span<UInt8>) -> Bool {
        if Self.isUnsure(index) { return true }
        let any = byKind[Int(index.kind.rawValue)]
        if any.first < any.end { return true }
        guard !byName.isEmpty, index.event.isPresent else { return false }
        return names.number(of: json.extracting(index.event.range), in: known) != nil
    }

    /// An escaped name may equal any of the names, and so may a value that the index does not hold.
    private static func isUnsure(_ index: EventIndex) -> Bool {
        index.flags.contains(.eventEscaped) || index.flags.contains(.hasOtherValues)
    }

    /// The first route whose filter matches the event.
    func first(_ view: borrowing EventView, _ program: FilterProgram) -> Int? {
        if Self.isUnsure(view.index) {
            for route in 0..<count where program.matches(view, filter: route) { return route }
            return nil
        }
        let any = byKind[Int(view.index.kind.rawValue)]
        var i = Int(any.first)
        let end = Int(any.end)
        var (j, namedEnd) = (0, 0)
        if !byName.isEmpty, view.index.event.isPresent,
            let name = names.number(of: view.bytes(view.index.event), in: known)
        {
            let named = byName[Int(name)]
            (j, namedEnd) = (Int(named.first), Int(named.end))
        }
        while i < end || j < namedEnd {
            let route: Int32
            if j == namedEnd || (i < end && routes[i] < routes[j]) {
                route = routes[i]
                i += 1
            } else {
                route = routes[j]
                // A route may be in both: `type = "page" or event = "A"`.
                if i < end, routes[i] == route { i += 1 }
                j += 1
            }
            if program.matches(view, filter: Int(route)) { return Int(route) }
        }
        return nil
    }
}

/// What an event must be so that a filter can match it: a track with one of the names, or an event of one of the kinds.
private struct EventNeeds {
    /// The names with which a track can match, whatever else `kinds` allows.
    private(set) var names: Set<[UInt8]> = []
    /// One bit for each kind that can match with any name, by its raw value.
    private(set) var kinds: UInt8 = 0

    private static let anything = EventNeeds(kinds: .max)

    private init(names: Set<[UInt8]> = [], kinds: UInt8 = 0) {
        self.names = names
        self.kinds = kinds
    }

    init(_ filter: Expression) {
        switch filter {
        case .compare(.equal, .path(let path), .string(let name)), .compare(.equal, .string(let name), .path(let path)):
            if IndexedField(path) == .event {
                self = EventNeeds(names: [Array(name.utf8)])
            } else {
                self = Self.kinds(of: filter)
            }
        case .isIn(.path(let path), .list(let items)) where IndexedField(path) == .event:
            // An event without a name matches null.
            self =
                items.contains(.null)
                ? .anything
                : EventNeeds(
                    names: Set(items.compactMap { if case .string(let name) = $0 { Array(name.utf8) } else { nil } }))
        case .all(let operands):
            // An event must meet the needs of each operand. The names of one of them are enough.
            let needs = operands.map { EventNeeds($0) }
            kinds = needs.reduce(.max) { $0 & $1.kinds }
            let track: UInt8 = 1 << EventKind.track.rawValue
            let named = needs.filter { $0.kinds & track == 0 }
            if let least = named.min(by: { $0.names.count < $1.names.count }) { names = least.names }
        case .any(let operands):
            for operand in operands {
                let needs = EventNeeds(operand)
                names.formUnion(needs.names)
                kinds |= needs.kinds
            }
        default: self = Self.kinds(of: filter)
        }
    }

    private static func kinds(of filter: Expression) -> EventNeeds {
        switch filter {
        case .bool(let value): EventNeeds(kinds: value ? .max : 0)
        case .compare(let comparison, let left, let right):
            EventNeeds(kinds: FilterCompiler.kindMask(comparison, left, right) ?? .max)
        case .isIn(.path(.type), .list(let items)): EventNeeds(kinds: FilterCompiler.kindMask(items))
        default: .anything
        }
    }
}

/// Leaves out the events that no route of a destination matches by their type and name.
final class RouteSelection: EventSelection {
    private let index: RouteIndex
    let reason: String

    /// - Returns: nil if each event may match.
    init?(_ index: RouteIndex, reason: String) {
        guard index.leavesOut else { return nil }
        self.index = index
        self.reason = reason
    }

    func mayTake(_ index: EventIndex, _ json: Span<UInt8>) -> Bool {
        // What is no event at all is rejected by the router.
        json.count < DestinationRouter.leastBytes || self.index.mayMatch(index, json)
    }
}
