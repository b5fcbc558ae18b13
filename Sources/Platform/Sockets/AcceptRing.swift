import CLinux

/// Accepts a client and sends its socket on, without a moment between the two in which a kill could lose the client:
/// linked requests of io_uring(7), see AcceptRing.c. One thread at a time.
///
/// Unsafe part: the C object, valid until the last reference.
@safe final class AcceptRing {
    private let handle: OpaquePointer

    /// - Returns: nil: the kernel or a sandbox does not allow it.
    init?() {
        guard let handle = unsafe clinux_accept_ring_open() else { return nil }
        unsafe self.handle = handle
    }

    deinit { unsafe clinux_accept_ring_close(handle) }

    /// - Parameter isIn: becomes 1 if the socket was sent.
    /// - Returns: the client's socket; -1: see errno; nil: the kernel does not carry out requests any more.
    func accept(from listener: Int32, into queue: Int32, _ isIn: inout Int32) -> Int32? {
        let client = unsafe clinux_accept_linked(handle, listener, queue, &isIn)
        return client == CLINUX_RING_BROKEN ? nil : client
    }
}
