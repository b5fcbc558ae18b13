import CZlib
import Events
import RequestBodies
import Testing

@Suite struct BodyDecompressorTests {
    typealias Format = BodyDecompressor.Format

    private static let text = Array((0..<400).flatMap { "{\"event\":\"Event \($0 &* 7919 % 401)\"}\n".utf8 })

    /// - Parameter windowBits: 31 for gzip, 15 for zlib, -15 for raw deflate.
    private static func compress(_ body: [UInt8], windowBits: Int32) -> [UInt8] {
        var stream = unsafe z_stream()
        let code = unsafe deflateInit2_(
            &stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        precondition(code == Z_OK)
        defer { unsafe deflateEnd(&stream) }
        let bound = unsafe Int(deflateBound(&stream, UInt(body.count)))
        var input = body
        return unsafe [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            unsafe input.withUnsafeMutableBufferPointer { input in
                unsafe stream.next_in = input.baseAddress
                unsafe stream.avail_in = UInt32(input.count)
                unsafe stream.next_out = output.baseAddress
                unsafe stream.avail_out = UInt32(bound)
                precondition(unsafe deflate(&stream, Z_FINISH) == Z_STREAM_END)
            }
            count = unsafe bound - Int(stream.avail_out)
        }
    }

    private static func compress(_ body: [UInt8], _ format: Format = .gzip) -> [UInt8] {
        compress(body, windowBits: format == .gzip ? 31 : 15)
    }

    /// Decompresses in pieces. Returns nil instead of an output for a problem.
    private func decompress(
        _ data: [UInt8], _ format: Format = .gzip, piece: Int = .max, maximum: Int = 1 << 20, ratio: Int = 1000
    ) -> Result<[UInt8], RequestProblem> {
        let decompressor = BodyDecompressor(format: format, maximumOutput: maximum, maximumRatio: ratio)
        var output: [UInt8] = []
        do throws(RequestProblem) {
            var rest = data.span
            while !rest.isEmpty {
                let size = min(piece, rest.count)
                try decompressor.append(rest.extracting(first: size), to: &output)
                rest = rest.extracting(size...)
            }
            try decompressor.finish()
            return .success(output)
        } catch {
            #expect(output.count <= maximum)
            return .failure(error)
        }
    }

    private func problem(of result: Result<[UInt8], RequestProblem>) throws -> RequestProblem {
        switch result {
        case .success(let output): throw UnexpectedOutput(size: output.count)
        case .failure(let problem): return problem
        }
    }

    private struct UnexpectedOutput: Error { var size: Int }

    @Test(arguments: [Format.gzip, .deflate], [1, 2, 3, 7, 64, .max])
    func `a body is the same for every size of pieces`(format: Format, piece: Int) {
        #expect(decompress(Self.compress(Self.text, format), format, piece: piece) == .success(Self.text))
        #expect(decompress(Self.compress([], format), format, piece: piece) == .success([]))
    }

    @Test(arguments: [Format.gzip, .deflate]) func `a body can be cut in two anywhere`(format: Format) throws {
        let data = Self.compress(Array("{\"a\":[1,2,3,\"four\"]}".utf8), format)
        for cut in 0...data.count {
            let decompressor = BodyDecompressor(format: format, maximumOutput: 100, maximumRatio: 10)
            var output: [UInt8] = []
            try decompressor.append(data.span.extracting(first: cut), to: &output)
            try decompressor.append(data.span.extracting(cut...), to: &output)
            try decompressor.finish()
            #expect(output == Array("{\"a\":[1,2,3,\"four\"]}".utf8))
        }
    }

    @Test(arguments: [Format.gzip, .deflate]) func `a body that ends early is refused at every length`(format: Format)
        throws
    {
        let data = Self.compress(Array("{\"a\":1}".utf8), format)
        for length in 0..<data.count {
            let problem = try problem(of: decompress(Array(data[..<length]), format))
            #expect(problem.reason == .invalidJSON)
            #expect(problem.detail.contains("too early"), "\(length): \(problem.detail)")
        }
    }

    @Test(arguments: [1, 5, .max]) func `members of gzip are one body`(piece: Int) {
        let data = Self.compress(Self.text) + Self.compress([]) + Self.compress(Array("end".utf8))
        #expect(decompress(data, piece: piece) == .success(Self.text + Array("end".utf8)))
    }

    @Test(arguments: [Format.gzip, .deflate], [[0], [0x20], [0x1F], [0x78, 0x9C], [0x1F, 0x8C, 8]] as [[UInt8]])
    func `bytes behind the end are refused`(format: Format, garbage: [UInt8]) throws {
        let data = Self.compress(Self.text, format) + garbage
        for piece in [1, data.count] {
            #expect(try problem(of: decompress(data, format, piece: piece)).reason == .invalidJSON)
        }
    }

    @Test func `other data is refused`() throws {
        for data in [Self.text, Self.compress(Self.text, .deflate), Self.compress(Self.text, windowBits: -15)] {
            let problem = try problem(of: decompress(data))
            #expect(problem.reason == .invalidJSON)
            #expect(problem.detail.contains("Content-Encoding"))
        }
        #expect(throws: RequestProblem.self) { try decompress(Self.compress(Self.text), .deflate).get() }
        #expect(throws: RequestProblem.self) {
            try decompress(Self.compress(Self.text, windowBits: -15), .deflate).get()
        }
    }

    @Test(arguments: [Format.gzip, .deflate]) func `damaged data is refused, and never gives another body`(
        format: Format
    ) {
        let data = Self.compress(Array("{\"event\":\"A\",\"userId\":\"u\"}".utf8), format)
        var refused = 0
        for position in data.indices {
            for bit in 0..<8 {
                var damaged = data
                damaged[position] ^= 1 << bit
                switch decompress(damaged, format, maximum: 4096) {
                case .success(let output): #expect(output == Array("{\"event\":\"A\",\"userId\":\"u\"}".utf8))
                case .failure: refused += 1
                }
            }
        }
        // Some bits of a header have no meaning.
        #expect(refused > data.count * 8 * 3 / 4)
    }

    @Test(arguments: [1, 64, .max]) func `the output may be as large as the limit, and no larger`(piece: Int) throws {
        let data = Self.compress(Self.text)
        #expect(decompress(data, piece: piece, maximum: Self.text.count) == .success(Self.text))
        let problem = try problem(of: decompress(data, piece: piece, maximum: Self.text.count - 1))
        #expect(problem.reason == .tooLarge)
        #expect(problem.detail.contains("max_batch_size"))
        #expect(decompress(Self.compress([]), maximum: 0) == .success([]))
        #expect(decompress(data, maximum: .max, ratio: .max) == .success(Self.text))
    }

    @Test(arguments: [Format.gzip, .deflate]) func `a bomb is refused for its ratio after little work`(format: Format)
        throws
    {
        let bomb = Self.compress(Array(repeating: 0, count: 10 << 20), format)
        let decompressor = BodyDecompressor(format: format, maximumOutput: .max, maximumRatio: 100)
        var output: [UInt8] = []
        var used = 0
        let problem = #expect(throws: RequestProblem.self) {
            for byte in bomb {
                try decompressor.append([byte].span, to: &output)
                used += 1
            }
        }
        #expect(problem?.reason == .tooLarge)
        #expect(problem?.detail.contains("100 times") == true)
        #expect(output.count < 100 << 10 && used < 200, "\(output.count) bytes from \(used)")
        // In one piece, too.
        let other = BodyDecompressor(format: format, maximumOutput: .max, maximumRatio: 100)
        output = []
        #expect(throws: RequestProblem.self) { try other.append(bomb.span, to: &output) }
        #expect(output.count < 2 << 20)
    }

    @Test func `64 KiB may have any ratio`() {
        let zeros = [UInt8](repeating: 0x20, count: 64 << 10)
        #expect(decompress(Self.compress(zeros), ratio: 1) == .success(zeros))
        #expect(decompress(Self.compress(zeros + Array(repeating: 0x20, count: 64 << 10)), ratio: 100) != .success([]))
    }

    @Test func `after a problem or the end, no piece is accepted`() throws {
        let failed = BodyDecompressor(format: .gzip, maximumOutput: 100, maximumRatio: 100)
        var output: [UInt8] = []
        let first = #expect(throws: RequestProblem.self) { try failed.append([1, 2, 3].span, to: &output) }
        let second = #expect(throws: RequestProblem.self) {
            try failed.append(Self.compress([]).span, to: &output)
        }
        #expect(first == second)
        #expect(throws: RequestProblem.self) { try failed.finish() }
        let ended = BodyDecompressor(format: .gzip, maximumOutput: 100, maximumRatio: 100)
        try ended.append(Self.compress([7]).span, to: &output)
        try ended.finish()
        #expect(output == [7])
        #expect(throws: RequestProblem.self) { try ended.append(Self.compress([7]).span, to: &output) }
    }
}
