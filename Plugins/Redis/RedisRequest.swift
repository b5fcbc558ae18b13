/// Commands in Redis' protocol (redis.io/docs/reference/protocol-spec), one after the other: arrays of bulk strings, so
/// any bytes may be in an argument.
struct RedisRequest {
    private(set) var bytes: [UInt8] = []
    /// The number of commands, and of replies to read.
    private(set) var count = 0

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        count = 0
    }

    /// Begins a command. Its arguments follow, as many as this says.
    mutating func command(_ arguments: Int) {
        head(UInt8(ascii: "*"), arguments)
        count += 1
    }

    mutating func argument(_ text: StaticString) {
        head(UInt8(ascii: "$"), text.utf8CodeUnitCount)
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        end()
    }

    mutating func argument(_ text: String) {
        head(UInt8(ascii: "$"), text.utf8.count)
        bytes.append(contentsOf: text.utf8)
        end()
    }

    mutating func argument(_ value: Span<UInt8>) {
        head(UInt8(ascii: "$"), value.count)
        unsafe value.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
        end()
    }

    mutating func argument(_ value: [UInt8]) { argument(value.span) }

    /// Appends the arguments of another request.
    mutating func append(_ arguments: RedisRequest) { bytes += arguments.bytes }

    mutating func command(_ texts: [String]) {
        command(texts.count)
        for text in texts { argument(text) }
    }

    private mutating func head(_ type: UInt8, _ number: Int) {
        bytes.append(type)
        bytes.append(contentsOf: "\(number)".utf8)
        end()
    }

    private mutating func end() {
        bytes.append(UInt8(ascii: "\r"))
        bytes.append(UInt8(ascii: "\n"))
    }
}
