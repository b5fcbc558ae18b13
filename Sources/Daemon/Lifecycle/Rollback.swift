/// Undoes the completed steps of a change. Run it when a step fails; discard it after the last step that can fail.
struct Rollback {
    private var steps: [() -> Void] = []

    /// - Parameter undo: undoes the step that has just completed; must not fail.
    mutating func add(_ undo: @escaping () -> Void) { steps.append(undo) }

    /// Undoes the steps, latest first.
    mutating func run() {
        for undo in steps.reversed() { undo() }
        steps = []
    }
}
