import Platform

/// The socket of one client, and the answers on their way to it. Belongs to the client's event loop.
struct ClientTransport: ~Copyable {
    /// How many unread bytes of a disconnected client are read and discarded. The kernel resets a connection that is
    /// closed with unread bytes, and the client could then not read its last answers.
    private static let discarded = 512 << 10
    /// Sent answers are removed from `output` once they are this many bytes and at least half of it.
    private static let sentKept = 64 << 10
    private static let sentAtOnce = 16 << 10

    private(set) var socket: FileDescriptor?
    /// Whether the connection may outlive the process.
    private let isKept: Bool
    /// Nil: the connection is not encrypted.
    private var session: TLSSession?
    private var isBroken = false
    /// Answers; the part before `sent` has been sent.
    private var output: [UInt8] = []
    private var sent = 0
    var canRead = true
    /// How many bytes may still be read before the daemon ends; nil: it does not end.
    private var lastBytes: Int?
    private var canWrite = true
    /// The kernel has reported that the peer writes no more. Unread bytes may remain.
    private var hasPeerEnded = false

    init(_ socket: consuming FileDescriptor, _ kind: Ingest.Transport, isKept: Bool = false) {
        self.isKept = isKept
        if case .tcp(let context?) = kind {
            session = TLSSession(context, over: socket)
            // Without memory for a session, nothing may pass unencrypted.
            isBroken = session == nil
        }
        self.socket = consume socket
    }

    var isOpen: Bool { socket != nil }
    /// Bytes of answers that were not sent.
    var unsent: Int { output.count - sent }
    /// Bytes of memory.
    var heldBytes: Int { output.capacity + (session?.heldBytes ?? 0) }
    /// Whether the peers still agree on the encryption.
    var isHandshaking: Bool { session?.isHandshaking ?? false }
    /// Why the encryption failed; nil: it did not.
    var failure: String? { session?.failure }

    func register(with poll: SocketPoll, tag: UInt64) throws(SystemError) {
        if socket != nil { try poll.add(socket!, tag: tag) }
    }

    func unregister(from poll: SocketPoll) {
        if socket != nil { poll.remove(socket!) }
    }

    /// Records a readiness report from the kernel.
    mutating func ready(_ readiness: SocketPoll.Readiness) {
        canRead = canRead || readiness.canRead
        canWrite = canWrite || readiness.canWrite
        if let session {
            // Each direction of an encrypted connection may wait for the other one.
            canRead = canRead || (readiness.canWrite && session.wantsWrite)
            canWrite = canWrite || readiness.canRead
        }
        hasPeerEnded = hasPeerEnded || readiness.hasEnded
    }

    /// From now on, reads only the bytes that the kernel has already.
    mutating func readLast() {
        // Encrypted bytes are never fewer than what they contain.
        lastBytes = 0
        if socket != nil { lastBytes = socket!.availableBytes() }
    }

    /// Whether it must not be read any more. After the peer's end, no more than a socket's buffer can follow.
    var isReadOut: Bool { lastBytes == 0 && !hasPeerEnded }

    /// Reads once.
    mutating func receive(into buffer: inout [UInt8], limit: Int) -> Received {
        guard socket != nil, !isBroken else { return .gone }
        if let session {
            let received = session.receive(into: &buffer, limit: limit)
            // A short read means nothing: the session reads record by record.
            canRead = received != .nothing || session.hasBufferedBytes
            if case .bytes(let count) = received { lastBytes = lastBytes.map { max(0, $0 - count) } }
            return received
        }
        let received = socket!.receive(into: &buffer, limit: limit)
        note(received, isShort: received != .bytes(limit))
        return received
    }

    /// Reads once into the client's ring.
    mutating func receive(into slot: ClientSlot, limit: Int) -> Received {
        guard socket != nil else { return .gone }
        let (received, isShort) = slot.receive(from: socket!, limit: limit)
        note(received, isShort: isShort)
        return received
    }

    private mutating func note(_ received: Received, isShort: Bool) {
        switch received {
        // A short read means that the socket is empty. New bytes are reported again, but an end that was already
        // reported is not.
        case .bytes(let count):
            canRead = !isShort || hasPeerEnded
            lastBytes = lastBytes.map { max(0, $0 - count) }
        case .nothing: canRead = false
        case .end, .gone: break
        }
    }

    /// Sends these answers and those before them, until the socket is full.
    /// - Returns: whether the peer still reads.
    mutating func send(_ answers: [UInt8]?) -> Bool {
        if isBroken { return false }
        if let answers { output += answers }
        while canWrite, unsent > 0, socket != nil {
            let bytes = output
            let rest = bytes.span.extracting(sent..<(isKept ? wholeLines(bytes) : bytes.count))
            switch session.map({ $0.transmit(rest) }) ?? socket!.transmit(rest) {
            case .bytes(0): canWrite = false
            case .bytes(let count): sent += count
            case .gone: return false
            }
        }
        if unsent == 0 {
            if output.capacity > 4096 { output = [] } else { output.removeAll(keepingCapacity: true) }
            sent = 0
        } else if sent >= Self.sentKept, sent >= unsent {
            // A client that never catches up offers no better moment to compact the buffer.
            output.removeFirst(sent)
            sent = 0
        }
        return true
    }

    /// The kernel takes a few bytes at once or none of them. So no answer is ever sent in part, and the next process
    /// can send the next one.
    private func wholeLines(_ bytes: [UInt8]) -> Int {
        let most = sent + Self.sentAtOnce
        guard bytes.count > most else { return bytes.count }
        let feed = UInt8(ascii: "\n")
        return (bytes[sent..<most].lastIndex(of: feed) ?? bytes[most...].firstIndex(of: feed)).map { $0 + 1 }
            ?? bytes.count
    }

    /// - Returns: the input that the earlier process has read and not settled; nil: the client cannot go on.
    func resume(_ slot: ClientSlot) -> [UInt8]? { socket == nil ? nil : slot.resume(socket!) }

    /// The peer is to notice the end, although another process still holds the socket.
    func endConnection() {
        if socket != nil { socket!.endConnection() }
    }

    mutating func discardOutput() {
        output = []
        sent = 0
    }

    /// - Parameter discardingInput: the client may not have read its last answers.
    mutating func close(discardingInput: Bool) {
        session?.close()
        session = nil
        // As a local value: the compiler of Swift 6.3 fails to optimise calls on a member that is optional.
        guard let last = socket.take() else { return }
        if discardingInput { Self.discardInput(of: last) }
    }

    private static func discardInput(of socket: borrowing FileDescriptor) {
        socket.stopReceiving()
        var rest = [UInt8](repeating: 0, count: 64 << 10)
        for _ in 0..<(discarded / rest.count) {
            guard case .bytes = socket.receive(into: &rest, limit: rest.count) else { return }
        }
    }
}
