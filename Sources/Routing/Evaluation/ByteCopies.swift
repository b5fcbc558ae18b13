import Events

extension [UInt8] {
    init(copying bytes: Span<UInt8>) {
        self = []
        append(contentsOf: bytes)
    }

    /// Appends a copy of a range of itself.
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
