/// What `penstock top` shows, and how keys change it. Pure.
package struct TopState: Sendable, Equatable {
    package enum Key: Sendable, Equatable {
        case character(Character)
        case enter, escape, backspace, up, down, pageUp, pageDown, home, end
    }

    package enum Sort: String, Sendable, CaseIterable {
        case name, rate, lag, dead, state

        var next: Sort { Self.allCases[((Self.allCases.firstIndex(of: self) ?? 0) + 1) % Self.allCases.count] }
    }

    /// A row that can be selected.
    package enum Row: Sendable, Hashable {
        case source(String)
        case destination(String)

        var name: String {
            switch self {
            case .source(let name), .destination(let name): name
            }
        }
    }

    package enum View: Sendable, Equatable {
        case list
        case details(Row)
        case help
    }

    /// The most characters of a filter.
    private static let longestFilter = 64

    package internal(set) var view = View.list
    package internal(set) var sort = Sort.name
    package internal(set) var isReversed = false
    /// Rows whose names contain this text, in any case.
    package internal(set) var filter = ""
    /// The keys are for the filter.
    package internal(set) var isEditingFilter = false
    package internal(set) var selected: Row?
    /// The first line that a long page shows.
    package internal(set) var scroll = 0

    package init() {}

    /// - Parameter report: what is shown; nil: nothing yet.
    /// - Returns: false: quit.
    package mutating func press(_ key: Key, _ report: StatusReport?, _ history: TopHistory) -> Bool {
        if isEditingFilter {
            edit(key)
            return true
        }
        switch key {
        case .character("q"): return false
        case .character("?"), .character("h"):
            scroll = 0
            view = view == .help ? .list : .help
        case .escape, .backspace:
            scroll = 0
            if view != .list { view = .list } else { filter = "" }
        case .up, .character("k"): move(by: -1, report, history)
        case .down, .character("j"): move(by: 1, report, history)
        case .pageUp: move(by: -10, report, history)
        case .pageDown, .character(" "): move(by: 10, report, history)
        case .home, .character("g"): move(by: -100_000, report, history)
        case .end, .character("G"): move(by: 100_000, report, history)
        default: if view == .list { pressInList(key, report, history) }
        }
        return true
    }

    private mutating func pressInList(_ key: Key, _ report: StatusReport?, _ history: TopHistory) {
        switch key {
        case .character("s"): sort = sort.next
        case .character("r"): isReversed.toggle()
        case .character("/"): isEditingFilter = true
        case .enter:
            guard let report, let row = currentRow(report, history) else { return }
            scroll = 0
            view = .details(row)
        default: break
        }
    }

    private mutating func edit(_ key: Key) {
        switch key {
        case .enter: isEditingFilter = false
        case .escape:
            isEditingFilter = false
            filter = ""
        case .backspace: if !filter.isEmpty { filter.removeLast() }
        case .character(let character): if filter.count < Self.longestFilter { filter.append(character) }
        default: break
        }
    }

    private mutating func move(by count: Int, _ report: StatusReport?, _ history: TopHistory) {
        guard view == .list else {
            scroll = max(0, min(scroll + count, 100_000))
            return
        }
        guard let report else { return }
        let rows = rows(report, history)
        guard !rows.isEmpty else { return selected = nil }
        let place = selected.flatMap { rows.firstIndex(of: $0) } ?? 0
        selected = rows[min(max(place + count, 0), rows.count - 1)]
    }

    // MARK: Rows

    /// The selected row, or the first one.
    func currentRow(_ report: StatusReport, _ history: TopHistory) -> Row? {
        let rows = rows(report, history)
        return selected.flatMap { rows.contains($0) ? $0 : nil } ?? rows.first
    }

    /// All rows that the filter leaves, sources first.
    func rows(_ report: StatusReport, _ history: TopHistory) -> [Row] {
        sources(report, history).map { .source($0) } + destinations(report, history).map { .destination($0) }
    }

    func sources(_ report: StatusReport, _ history: TopHistory) -> [String] {
        let order = { (name: String) -> Double in
            switch sort {
            case .rate: -(history.rate(of: .accepted(source: name)) ?? 0)
            case .dead: -Double(report.sources[name]?.refused ?? 0)
            default: 0
            }
        }
        return sorted(report.sources.keys, order)
    }

    func destinations(_ report: StatusReport, _ history: TopHistory) -> [String] {
        let order = { (name: String) -> Double in
            guard let destination = report.destinations[name] else { return 0 }
            switch sort {
            case .name: return 0
            case .rate: return -(history.rate(of: .delivered(destination: name)) ?? destination.eventsPerSecond)
            case .lag: return -Double(destination.lagEvents)
            case .dead: return -Double(destination.deadLettered)
            case .state: return destination.state == .up ? 1 : 0
            }
        }
        return sorted(report.destinations.keys, order)
    }

    private func sorted(_ names: some Collection<String>, _ order: (String) -> Double) -> [String] {
        let shown = names.filter { filter.isEmpty || $0.lowercased().contains(filter.lowercased()) }
        let rows = shown.map { (order($0), $0) }.sorted { $0 < $1 }.map(\.1)
        return isReversed ? rows.reversed() : rows
    }
}
