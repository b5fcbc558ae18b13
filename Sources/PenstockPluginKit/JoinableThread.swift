import Glibc

/// A thread that is waited for. `join` is called exactly once.
///
/// Unsafe part: the handle, which only `join` uses.
@safe package struct JoinableThread: Sendable {
    /// The kernel counts a whole stack towards `limits.memory`, and the usual one has 8 MiB.
    private static let stack = 1 << 20

    private let handle: pthread_t

    package init(_ body: @escaping @Sendable () -> Void) {
        var handle = pthread_t()
        let argument = unsafe Unmanaged.passRetained(Body(run: body)).toOpaque()
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setstacksize(&attributes, Self.stack)
        let status = unsafe pthread_create(&handle, &attributes, runBody, argument)
        unsafe pthread_attr_destroy(&attributes)
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
