import CLinux

/// An IP address: 16 bytes of IPv6, or IPv4 mapped to `::ffff:0:0/96`. So an IPv4 address equals its mapped form.
package struct RemoteAddress: Hashable, Sendable, CustomStringConvertible {
    /// The bytes in network order, as two numbers.
    package let high: UInt64
    package let low: UInt64

    /// - Parameter bytes: 16, in network order.
    init(_ bytes: InlineArray<16, UInt8>) {
        func number(_ range: Range<Int>) -> UInt64 { range.reduce(0) { $0 << 8 | UInt64(bytes[$1]) } }
        high = number(0..<8)
        low = number(8..<16)
    }

    /// - Parameter text: `127.0.0.1`, `::1`. nil: neither an IPv4 nor an IPv6 address. Names are not resolved.
    package init?(_ text: String) {
        // A NUL would end the text early.
        guard text.utf8.count < CLINUX_ADDRESS_TEXT, !text.utf8.contains(0) else { return nil }
        var bytes = InlineArray<16, UInt8>(repeating: 0)
        var span = bytes.mutableSpan
        let parsed = unsafe span.withUnsafeMutableBufferPointer { unsafe clinux_parse_address(text, $0.baseAddress) }
        guard parsed == 0 else { return nil }
        self.init(bytes)
    }

    /// The bytes in network order.
    package var bytes: InlineArray<16, UInt8> {
        InlineArray { index in
            UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> UInt64(8 * (7 - index % 8)))
        }
    }

    package var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

    /// 127.0.0.0/8 or ::1: packets do not leave the machine.
    package var isLoopback: Bool { isIPv4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

    /// 0.0.0.0 or ::, which stands for every address of the machine.
    package var isAny: Bool { isIPv4 ? low & 0xFFFF_FFFF == 0 : high == 0 && low == 0 }

    /// `192.0.2.7`, `2001:db8::1`
    package var description: String {
        let bytes = bytes
        let span = bytes.span
        var text = InlineArray<46, CChar>(repeating: 0)
        var output = text.mutableSpan
        unsafe span.withUnsafeBufferPointer { from in
            unsafe output.withUnsafeMutableBufferPointer { to in
                unsafe clinux_format_address(from.baseAddress, to.baseAddress)
            }
        }
        return unsafe output.withUnsafeMutableBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe String(cString: $0) } ?? ""
        }
    }
}

extension FileDescriptor {
    /// The address of a TCP connection's peer (getpeername(2)). Throws ENOTCONN if the peer is gone already, and
    /// EAFNOSUPPORT for a Unix socket.
    package func peerAddress() throws(SystemError) -> RemoteAddress {
        var bytes = InlineArray<16, UInt8>(repeating: 0)
        var port: UInt16 = 0
        var span = bytes.mutableSpan
        let done = unsafe span.withUnsafeMutableBufferPointer {
            unsafe clinux_peer_address(raw, $0.baseAddress, &port)
        }
        guard done == 0 else { throw SystemError("getpeername") }
        return RemoteAddress(bytes)
    }

    /// The address on which a TCP socket listens, with the port that the kernel chose for port 0 (getsockname(2)).
    package func localAddress() throws(SystemError) -> SocketAddress {
        var bytes = InlineArray<16, UInt8>(repeating: 0)
        var port: UInt16 = 0
        var span = bytes.mutableSpan
        let done = unsafe span.withUnsafeMutableBufferPointer {
            unsafe clinux_local_address(raw, $0.baseAddress, &port)
        }
        guard done == 0 else { throw SystemError("getsockname") }
        return SocketAddress(RemoteAddress(bytes), port: port)
    }

    /// Sends small writes at once instead of collecting them (TCP_NODELAY). A socket that is not TCP stays as it is.
    package func setNoDelay() { _ = clinux_no_delay(raw) }
}
