#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// Starts a provider's own thread, for work that blocks. All signals are blocked in it: they belong to the application.
package enum ProviderThread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// - Returns: False if the system cannot create a thread. Then `run` is never called.
    package static func start(_ run: @escaping @Sendable () -> Void) -> Bool {
        let body = unsafe Unmanaged.passRetained(Body(run))
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        #if canImport(Glibc) || canImport(Android)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        guard unsafe pthread_create(&thread, nil, providerThreadMain, body.toOpaque()) == 0 else {
            unsafe body.release()
            return false
        }
        #if canImport(Glibc) || canImport(Android)
            pthread_detach(thread)
        #else
            if let thread = unsafe thread { unsafe pthread_detach(thread) }
        #endif
        return true
    }

    fileprivate static func main(_ argument: UnsafeMutableRawPointer) {
        unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
    }
}

// File-level functions, because a closure could be inferred to be isolated to the main actor.
#if canImport(Darwin)
    private func providerThreadMain(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        unsafe ProviderThread.main(argument)
        return nil
    }
#else
    private func providerThreadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let argument = unsafe argument { unsafe ProviderThread.main(argument) }
        return nil
    }
#endif
