/// A connection's id: unique in the process, with the number of its first event loop in the lowest 8 bits.
enum ClientIdentity {
    static func make(_ number: UInt64, loop: Int) -> UInt64 { number << 8 | UInt64(loop & 0xFF) }
    static func loop(of id: UInt64) -> Int { Int(id & 0xFF) }
}
