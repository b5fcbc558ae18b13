/// What undoes the steps of a change that were done so far. A step that fails runs it; once the last one that can fail
/// is done, it is thrown away.
struct Rollback {
    private var steps: [() -> Void] = []

    /// - Parameter undo: undoes the step that was just done; must not fail.
    mutating func add(_ undo: @escaping () -> Void) { steps.append(undo) }

    /// The latest step first.
    mutating func run() {
        for undo in steps.reversed() { undo() }
        steps = []
    }
}
