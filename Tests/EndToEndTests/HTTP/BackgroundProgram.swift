import Platform

/// A program that runs while the test goes on. It must end by itself.
final class BackgroundProgram {
    private let outcome = Guarded<Result<Program, any Error>?>(nil)
    private var thread: WorkerThread?

    init(_ run: @escaping @Sendable () throws -> Program) {
        thread = WorkerThread(name: "program") { [outcome] in
            let result = Result { try run() }
            outcome.change { $0 = result }
        }
    }

    deinit { thread?.join() }

    var hasEnded: Bool { outcome.value != nil }

    /// Waits for its end.
    func result() throws -> Program {
        thread?.join()
        thread = nil
        guard let outcome = outcome.value else { throw Failure("the program has no result") }
        return try outcome.get()
    }
}
