/// How serious a state is, for its colour in `penstock status` and `penstock top`.
extension ScreenLine.Style {
    init(_ state: StatusReport.Destination.State) {
        switch state {
        case .up: self = .good
        case .retrying: self = .warning
        case .held, .failing, .stopped: self = .bad
        }
    }

    init(_ state: StatusReport.Source.PluginState) {
        switch state {
        case .up: self = .good
        case .starting, .retrying: self = .warning
        case .held, .failing, .stopped: self = .bad
        }
    }

    init(_ state: StatusReport.Journal.State) { self = state == .ok ? .good : .bad }

    init(_ health: StatusReport.Health) { self = health == .healthy ? .good : .warning }
}
