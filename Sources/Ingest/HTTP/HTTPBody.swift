import Events
import RequestBodies

/// Collects the body of a request, decompressed. Bounded.
///
/// It is kept in pieces until its end. One growing array would leave free memory of every smaller size behind, and the
/// unfinished bodies of many clients would take twice the memory of their bytes.
struct HTTPBody {
    /// Short pieces are joined up to this size.
    private static let piece = 16 << 10

    private var pieces: [[UInt8]] = []
    private var count = 0
    private var capacity = 0
    private var isFinished = false
    private let maximum: Int
    private let decompressor: BodyDecompressor?
    /// Bytes of memory.
    var heldBytes: Int { capacity + (decompressor?.heldBytes ?? 0) }

    /// - Parameter encoding: the Content-Encoding, in lower case.
    /// - Returns: nil: the encoding is unknown.
    init?(encoding: String?, limits: HTTPAccess.Limits) {
        maximum = limits.maximumBody
        let format: BodyDecompressor.Format?
        switch encoding {
        case nil, "", "identity": format = nil
        case "gzip", "x-gzip": format = .gzip
        case "deflate": format = .deflate
        default: return nil
        }
        decompressor = format.map {
            BodyDecompressor(format: $0, maximumOutput: limits.maximumBody, maximumRatio: limits.maximumRatio)
        }
    }

    mutating func append(_ piece: [UInt8]) throws(RequestProblem) {
        guard let decompressor else { return try keep(piece) }
        var output: [UInt8] = []
        try decompressor.append(piece.span, to: &output)
        try keep(output)
    }

    private mutating func keep(_ piece: [UInt8]) throws(RequestProblem) {
        guard !piece.isEmpty else { return }
        guard piece.count <= maximum - count else { throw Self.tooLarge(maximum) }
        count += piece.count
        guard let last = pieces.indices.last, pieces[last].count + piece.count <= Self.piece else {
            capacity += piece.capacity
            return pieces.append(piece)
        }
        capacity -= pieces[last].capacity
        pieces[last] += piece
        capacity += pieces[last].capacity
    }

    /// Ends the body, when called for the first time.
    /// - Returns: all of it.
    mutating func finish() throws(RequestProblem) -> [UInt8] {
        if !isFinished { try decompressor?.finish() }
        isFinished = true
        if pieces.count > 1 {
            var whole: [UInt8] = []
            whole.reserveCapacity(count)
            for piece in pieces { whole += piece }
            pieces = [whole]
            capacity = whole.capacity
        }
        return pieces.first ?? []
    }

    /// The body is larger than the limit.
    static func tooLarge(_ maximum: Int) -> RequestProblem {
        RequestProblem(
            .tooLarge,
            """
            the request's body is larger than \(maximum) bytes; send fewer events in a request, or raise \
            max_batch_size of this source
            """)
    }
}
