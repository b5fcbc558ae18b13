import Events

extension Span<UInt8> {
    /// Whether `part` lies somewhere within. Time is bounded by 64 times the length.
    func contains(_ part: Span<UInt8>) -> Bool {
        guard part.count > 0 else { return true }
        guard part.count <= count else { return false }
        guard part.count <= 64 else { return containsLong(part) }
        let first = part[0]
        for start in 0...(count - part.count) where self[start] == first {
            if extracting(start..<start + part.count).hasBytes(of: part) { return true }
        }
        return false
    }

    /// Knuth, Morris and Pratt: long repetitive texts, which an event may bring, stay linear.
    private func containsLong(_ part: Span<UInt8>) -> Bool {
        // How much of `part` still fits when its character after that many does not.
        var fallback = [Int](repeating: 0, count: part.count)
        var fitting = 0
        for i in 1..<part.count {
            while fitting > 0, part[i] != part[fitting] { fitting = fallback[fitting - 1] }
            if part[i] == part[fitting] { fitting += 1 }
            fallback[i] = fitting
        }
        fitting = 0
        for i in indices {
            while fitting > 0, self[i] != part[fitting] { fitting = fallback[fitting - 1] }
            if self[i] == part[fitting] { fitting += 1 }
            if fitting == part.count { return true }
        }
        return false
    }
}

extension [UInt8] {
    init(copying bytes: Span<UInt8>) {
        self = []
        append(contentsOf: bytes)
    }

    /// Repeats a piece of itself at the end.
    mutating func append(copyOf range: Range<Int>) {
        for i in range {
            let byte = self[i]
            append(byte)
        }
    }
}

extension String {
    /// Decodes UTF-8.
    init(copying bytes: Span<UInt8>) {
        self.init(decoding: [UInt8](copying: bytes), as: UTF8.self)
    }
}
