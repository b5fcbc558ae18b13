import Platform

/// The token that a browser must present at the page's address: 256 random bits, in a file beside the control socket
/// that only the daemon's user can read. So it stays the same when the daemon restarts, and an open page continues. To
/// make a new one, remove the file and restart the daemon.
struct PageToken: Sendable, Equatable {
    /// 64 hexadecimal digits.
    let text: String

    private static let length = 64

    init(text: String) { self.text = text }

    /// Reads the token, or makes one. Blocks on the disk.
    /// - Parameter directory: that of the control socket; it exists.
    init(in directory: String) throws(SystemError) {
        let path = directory + "/page.token"
        if let bytes = PrivateFile.read(path, upTo: Self.length), bytes.count == Self.length,
            bytes.allSatisfy("0123456789abcdef".utf8.contains)
        {
            text = String(decoding: bytes, as: UTF8.self)
            return
        }
        var generator = SystemRandomNumberGenerator()
        text = Hexadecimal.text((0..<Self.length / 2).map { _ in UInt8.random(in: 0...255, using: &generator) })
        try PrivateFile.write(Array(text.utf8), to: path)
    }

    /// Compares in a time that does not depend on the place of a difference.
    func equals(_ other: String) -> Bool {
        let (own, given) = (Array(text.utf8), Array(other.utf8))
        guard own.count == given.count else { return false }
        return zip(own, given).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
