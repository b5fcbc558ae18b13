/// The origin of a message's events, for the host: a UUID of its edge and its sequence.
package enum FleetOrigin {
    /// - Returns: a UUID of version 8 (RFC 9562), from two hashes of 64 bits.
    package static func id(edge: String, sequence: String) -> String {
        let text = Array(edge.lowercased().utf8) + [0x20] + Array(sequence.utf8)
        let high = mixed(hash(text, 0xCBF2_9CE4_8422_2325)) & ~0xF000 | 0x8000
        let low = mixed(hash(text, 0x6C62_272E_07BB_0142)) & ~(3 << 62) | 2 << 62
        let digits = hexadecimal(high) + hexadecimal(low)
        var id = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { id.append("-") }
            id.append(digit)
        }
        return id
    }

    private static func hash(_ text: [UInt8], _ basis: UInt64) -> UInt64 {
        text.reduce(basis) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The finalizer of MurmurHash3.
    static func mixed(_ hash: UInt64) -> UInt64 {
        var hash = hash
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return hash ^ hash >> 33
    }
}
