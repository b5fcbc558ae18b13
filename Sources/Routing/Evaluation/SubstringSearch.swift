import Events

extension Span<UInt8> {
    /// Whether `part` occurs in these bytes. Takes at most 64 times `count` steps.
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

    /// Knuth-Morris-Pratt: stays linear for long repetitive texts, which an event may contain.
    private func containsLong(_ part: Span<UInt8>) -> Bool {
        // fallback[n - 1]: how many bytes of `part` still match if its first n bytes match and the next one does not.
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
