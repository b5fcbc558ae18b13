import Glibc

/// A thread that is waited for. `join` is called exactly once.
///
/// Unsafe part: the handle, which only `join` uses.
@safe package struct JoinableThread: Sendable {
    private let handle: pthread_t

    package init(_ body: @escaping @Sendable () -> Void) {
        var handle = pthread_t()
        let argument = unsafe Unmanaged.passRetained(Body(run: body)).toOpaque()
        let status = unsafe pthread_create(&handle, nil, runBody, argument)
        precondition(status == 0, "no thread can be created: error \(status)")
        self.handle = handle
    }

    /// Waits until the thread has ended.
    package func join() { pthread_join(handle, nil) }
}

private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
