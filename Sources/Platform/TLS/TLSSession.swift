import CTLS

/// TLS on one accepted TCP connection: the server's side. No call blocks, and none raises SIGPIPE. One thread at a
/// time.
///
/// The handshake happens inside `receive` and `transmit`. After `.nothing`, or `.bytes(0)` from `transmit`, the caller
/// waits until the socket is readable or writable; edge-triggered polling reports both.
///
/// A handshake has no time limit of its own: the caller closes a connection that is `isHandshaking` for too long.
@safe package final class TLSSession: @unchecked Sendable {
    private let session: OpaquePointer
    /// Keeps the certificates while the session lives.
    private let context: TLSContext

    /// - Parameter socket: non-blocking or not. It must stay open as long as the session is used. The session never
    ///   closes it.
    /// - Returns: nil: there is no memory.
    package init?(_ context: TLSContext, over socket: borrowing FileDescriptor) {
        guard let session = unsafe context.makeSession(socket.raw) else { return nil }
        unsafe self.session = unsafe session
        self.context = context
    }

    deinit { unsafe ctls_session_free(session) }

    /// Reads available bytes, at most `limit` and at most one record of 16 KiB, into the beginning of `bytes`. As with
    /// a plain socket, read until `.nothing`. `.end` also stands for a connection that was closed without
    /// close_notify, so the protocol above must know where a message ends.
    ///
    /// The work of one call is bounded: after many records without data it returns `.nothing`, and `hasBufferedBytes`
    /// is true.
    package func receive(into bytes: inout [UInt8], limit: Int) -> Received {
        var count = 0
        let outcome = unsafe bytes.withUnsafeMutableBufferPointer {
            unsafe ctls_read(session, $0.baseAddress, max(0, min($0.count, limit)), &count)
        }
        return switch outcome {
        case CTLS_DONE: .bytes(count)
        case CTLS_BLOCKED: .nothing
        case CTLS_END: .end
        default: .gone
        }
    }

    /// Sends as many bytes as the socket takes without blocking. The next call must begin with the bytes that were not
    /// sent, and have at least 16 KiB of them or all: a part may be encrypted already.
    package func transmit(_ bytes: Span<UInt8>) -> Transmitted {
        var count = 0
        let outcome = unsafe bytes.withUnsafeBufferPointer {
            unsafe ctls_write(session, $0.baseAddress, $0.count, &count)
        }
        return outcome == CTLS_GONE ? .gone : .bytes(count)
    }

    /// Tells the client that no more bytes follow (close_notify), once, if the socket takes it now. The caller then
    /// closes the socket.
    package func close() { unsafe ctls_close(session) }

    /// The client has not finished its handshake. False after a failure.
    package var isHandshaking: Bool { unsafe ctls_is_handshaking(session) != 0 }

    /// About how many bytes of memory OpenSSL uses for it, as measured with OpenSSL 3: 43 KiB while it waits in the
    /// middle of the handshake, 14 KiB afterwards.
    package var heldBytes: Int { isHandshaking ? 43 << 10 : 14 << 10 }

    /// The last `receive` returned `.nothing` because the socket took no bytes: call it again when the socket is
    /// writable.
    package var wantsWrite: Bool { unsafe ctls_read_wants_write(session) != 0 }

    /// Another `receive` would not wait for the socket: polling reports no further change for these bytes.
    package var hasBufferedBytes: Bool { unsafe ctls_has_bytes(session) != 0 }

    /// Why the connection failed, in plain words without control characters, after `.gone`. nil: it has not failed, or
    /// the client just left after the handshake.
    package var failure: String? {
        let text = unsafe String(cString: ctls_failure(session))
        return text.isEmpty ? nil : text
    }

    /// `TLSv1.3`; meaningful after the handshake.
    package var version: String { unsafe String(cString: ctls_version(session)) }
}
