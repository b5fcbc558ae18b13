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
        let filters = filters.map(\.folded)
        let required = filters.map(\.requiredNames)
        count = filters.count
        var numbers: [String: Int] = [:]
        var all: [String] = []
        var named: [[Int32]] = []
        for (route, required) in required.enumerated() {
            for name in (required ?? []).sorted() {
                let number = numbers[name] ?? all.count
                if number == all.count {
                    numbers[name] = number
                    all.append(name)
                    named.append([])
                }
                named[number].append(Int32(route))
            }
        }
        known = names.add(all)
        byName = named.map { Self.add($0, to: &routes) }
        let kinds = filters.map(\.possibleKinds)
        byKind = (UInt8(0)..<8).map { kind in
            let taking = filters.indices.filter { required[$0] == nil && kinds[$0] & 1 << kind != 0 }
            return Self.add(taking.map(Int32.init), to: &routes)
        }
    }

    private static func add(_ numbers: [Int32], to routes: inout [Int32]) -> Run {
        let first = Int32(routes.count)
        routes += numbers
        return Run(first: first, end: Int32(routes.count))
    }

    /// The first route whose filter matches the event.
    func first(_ view: borrowing EventView, _ program: FilterProgram) -> Int? {
        // An escaped name may equal any of the names, and so may a value that the index does not hold.
        if view.index.flags.contains(.eventEscaped) || view.index.flags.contains(.hasOtherValues) {
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
                j += 1
            }
            if program.matches(view, filter: Int(route)) { return Int(route) }
        }
        return nil
    }
}

extension Expression {
    /// The names of all events that can match. Nil: any name, or events without a name too.
    fileprivate var requiredNames: Set<String>? {
        switch self {
        case .compare(.equal, .path(let path), .string(let name)), .compare(.equal, .string(let name), .path(let path)):
            return IndexedField(path) == .event ? [name] : nil
        case .isIn(.path(let path), .list(let items)) where IndexedField(path) == .event:
            if items.contains(.null) { return nil }
            return Set(items.compactMap { if case .string(let name) = $0 { name } else { nil } })
        case .all(let operands):
            return operands.compactMap(\.requiredNames).min { $0.count < $1.count }
        case .any(let operands):
            var names = Set<String>()
            for operand in operands {
                guard let more = operand.requiredNames else { return nil }
                names.formUnion(more)
            }
            return names
        default: return nil
        }
    }

    /// One bit for each kind that can match, by its raw value.
    fileprivate var possibleKinds: UInt8 {
        switch self {
        case .compare(let comparison, let left, let right): FilterCompiler.kindMask(comparison, left, right) ?? .max
        case .isIn(.path(.type), .list(let items)): FilterCompiler.kindMask(items)
        case .all(let operands): operands.reduce(.max) { $0 & $1.possibleKinds }
        case .any(let operands): operands.reduce(0) { $0 | $1.possibleKinds }
        default: .max
        }
    }
}
