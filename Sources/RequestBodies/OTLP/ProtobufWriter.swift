/// Appends fields of protobuf messages.
enum ProtobufWriter {
    static func appendVarint(_ value: UInt64, to output: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(rest))
    }

    static func append(_ value: UInt64, field: Int, to output: inout [UInt8]) {
        appendTag(field, wireType: 0, to: &output)
        appendVarint(value, to: &output)
    }

    static func append(fixed64 value: UInt64, field: Int, to output: inout [UInt8]) {
        appendTag(field, wireType: 1, to: &output)
        for shift in stride(from: UInt64(0), to: 64, by: 8) { output.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    static func append(fixed32 value: UInt32, field: Int, to output: inout [UInt8]) {
        appendTag(field, wireType: 5, to: &output)
        for shift in stride(from: UInt32(0), to: 32, by: 8) { output.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    static func append(_ bytes: [UInt8], field: Int, to output: inout [UInt8]) {
        appendTag(field, wireType: 2, to: &output)
        appendVarint(UInt64(bytes.count), to: &output)
        output += bytes
    }

    /// Begins a string, bytes or a message of unknown length. Everything that is appended until `end` is its contents.
    /// - Returns: the index of the first byte of the contents.
    static func begin(field: Int, in output: inout [UInt8]) -> Int {
        appendTag(field, wireType: 2, to: &output)
        output.append(addingCapacity: lengthSize) { free in
            for _ in 0..<lengthSize { free.append(0) }
        }
        return output.count
    }

    /// Ends what `begin` began. The length always takes five bytes. Readers accept a varint with leading zeros, and
    /// the contents need not move.
    static func end(_ start: Int, in output: inout [UInt8]) {
        var rest = output.count - start
        for index in start - lengthSize..<start - 1 {
            output[index] = UInt8(truncatingIfNeeded: rest) | 0x80
            rest >>= 7
        }
        precondition(rest < 0x80, "a message of \(output.count - start) bytes is too long")
        output[start - 1] = UInt8(rest)
    }

    /// 35 bits.
    private static let lengthSize = 5

    private static func appendTag(_ field: Int, wireType: UInt64, to output: inout [UInt8]) {
        appendVarint(UInt64(field) << 3 | wireType, to: &output)
    }
}
