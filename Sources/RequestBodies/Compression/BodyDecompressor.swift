import CZlib
import Events

/// Decompresses one body, piece by piece as it arrives. The output and its ratio to the input are bounded, so a bomb is
/// refused after little work. Use by one thread at a time.
///
/// Takes about 40 KiB of memory from the first piece until the end or a failure.
///
/// Unsafe here: zlib's stream, which must not move in memory. This object owns and frees it.
@safe package final class BodyDecompressor {
    package enum Format: Sendable {
        /// RFC 1952. Several members one after another are one body.
        case gzip
        /// RFC 1950: `deflate` of HTTP is the zlib format.
        case deflate

        fileprivate var windowBits: Int32 { self == .gzip ? 15 + 16 : 15 }
        fileprivate var name: String { self == .gzip ? "gzip" : "deflate" }
    }

    private enum State {
        /// Before the first byte.
        case empty
        /// Inside a member.
        case inside
        /// After a whole member.
        case ended
        /// No further piece is accepted.
        case failed(RequestProblem)
    }

    /// Compressed text of any ratio is accepted up to this size.
    package static let freeOutput = 64 << 10

    private let format: Format
    private let maximumOutput: Int
    private let maximumRatio: Int
    private let stream: UnsafeMutablePointer<z_stream>
    private var state = State.empty
    private var consumed = 0
    private var produced = 0

    /// Bytes of memory.
    package var heldBytes: Int {
        switch state {
        case .empty, .failed: 0
        case .inside, .ended: 40 << 10
        }
    }

    /// - Parameters:
    ///   - maximumOutput: bytes of the decompressed body: `max_batch_size`.
    ///   - maximumRatio: output beyond 64 KiB is at most this many times as large as the input so far.
    package init(format: Format, maximumOutput: Int, maximumRatio: Int) {
        self.format = format
        self.maximumOutput = min(max(maximumOutput, 0), 1 << 40)
        self.maximumRatio = max(maximumRatio, 1)
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
    }

    deinit {
        // If the stream was never set up, this call returns an error and does nothing.
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Decompresses the next piece and appends the result.
    /// - Throws: `tooLarge` or, for damaged data, `invalidJSON`. After that, every call throws the same.
    package func append(_ piece: Span<UInt8>, to output: inout [UInt8]) throws(RequestProblem) {
        if case .failed(let problem) = state { throw problem }
        do throws(RequestProblem) {
            var rest = piece
            while !rest.isEmpty {
                let taken = try decompress(rest.extracting(first: 1 << 20), to: &output)
                rest = rest.extracting(taken...)
            }
        } catch {
            state = .failed(error)
            unsafe inflateEnd(stream)
            throw error
        }
    }

    /// Ends the body.
    /// - Throws: `invalidJSON` if the data ends too early.
    package func finish() throws(RequestProblem) {
        let problem: RequestProblem
        switch state {
        case .ended:
            unsafe inflateEnd(stream)
            state = .failed(RequestProblem(.invalidJSON, "the body has ended"))
            return
        case .failed(let earlier):
            throw earlier
        case .empty, .inside:
            problem = RequestProblem(
                .invalidJSON,
                "the \(format.name) data of the body ends after \(consumed) bytes, too early; send all of it")
        }
        state = .failed(problem)
        unsafe inflateEnd(stream)
        throw problem
    }

    /// Decompresses until the piece or the member ends.
    /// - Returns: bytes of the piece that were used.
    private func decompress(_ piece: Span<UInt8>, to output: inout [UInt8]) throws(RequestProblem) -> Int {
        try enterMember(first: piece[0])
        var taken = 0
        while true {
            let code = step(piece.extracting(taken...), &taken, to: &output)
            try checkOutput(&output)
            switch code {
            case Z_STREAM_END:
                state = .ended
                return taken
            // No progress: everything was used.
            case Z_OK where taken == piece.count && hasRoom, Z_BUF_ERROR:
                return piece.count
            case Z_OK:
                continue
            default:
                throw damaged("is damaged at byte \(consumed) or before")
            }
        }
    }

    /// Sets the stream up for the member whose first byte this is.
    private func enterMember(first: UInt8) throws(RequestProblem) {
        switch state {
        case .empty:
            let code = unsafe inflateInit2_(stream, format.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
            precondition(code == Z_OK, "no memory to decompress a body")
        case .ended:
            guard format == .gzip, first == 0x1F else {
                throw damaged("has other bytes behind its end, from byte \(consumed + 1)")
            }
            unsafe inflateReset(stream)
        case .inside, .failed:
            return
        }
        state = .inside
    }

    private func damaged(_ fault: String) -> RequestProblem {
        RequestProblem(
            .invalidJSON,
            "the \(format.name) data of the body \(fault); check that Content-Encoding names what the client does")
    }

    /// Whether the last step left room for output.
    private var hasRoom: Bool { unsafe stream.pointee.avail_out > 0 }

    /// Runs zlib once, with room for at most 16 KiB, and at most one byte above the limit.
    private func step(_ piece: Span<UInt8>, _ taken: inout Int, to output: inout [UInt8]) -> Int32 {
        let room = min(16 << 10, maximumOutput + 1 - produced)
        var code = Z_OK
        output.append(addingCapacity: room) { free in
            unsafe free.withUnsafeMutableBufferPointer { free, initialized in
                unsafe piece.withUnsafeBufferPointer { piece in
                    // zlib only reads from it, despite the pointer's type.
                    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: piece.baseAddress)
                    unsafe stream.pointee.avail_in = UInt32(piece.count)
                    unsafe stream.pointee.next_out = free.baseAddress
                    unsafe stream.pointee.avail_out = UInt32(room)
                    code = unsafe inflate(stream, Z_NO_FLUSH)
                    initialized = unsafe room - Int(stream.pointee.avail_out)
                    let used = unsafe piece.count - Int(stream.pointee.avail_in)
                    taken += used
                    consumed += used
                    produced += initialized
                    unsafe stream.pointee.next_in = nil
                    unsafe stream.pointee.next_out = nil
                }
            }
        }
        return code
    }

    private func checkOutput(_ output: inout [UInt8]) throws(RequestProblem) {
        if produced > maximumOutput {
            output.removeLast(produced - maximumOutput)
            throw .tooLarge(maximum: maximumOutput)
        }
        let (allowed, isHuge) = maximumRatio.multipliedReportingOverflow(by: consumed)
        if !isHuge, produced - Self.freeOutput > allowed {
            throw RequestProblem(
                .tooLarge,
                """
                the body expands to more than \(maximumRatio) times its compressed size \
                (max_decompression_ratio); send it without Content-Encoding
                """)
        }
    }
}
