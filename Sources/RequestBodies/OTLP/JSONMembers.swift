import Events

/// Builds objects and lists of JSON whose members each end with a comma.
enum JSONMembers {
    /// Appends `"name":`. The name needs no escapes.
    static func appendName(_ name: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        output += name.utf8
        output.append(UInt8(ascii: "\""))
        output.append(UInt8(ascii: ":"))
    }

    /// Appends the closing bracket, in place of the last member's comma if there are members.
    static func close(with bracket: Unicode.Scalar, _ output: inout [UInt8]) {
        if output.last == UInt8(ascii: ",") {
            output[output.count - 1] = UInt8(ascii: bracket)
        } else {
            output.append(UInt8(ascii: bracket))
        }
    }
}

/// Numbers as JSON.
enum JSONDigits {
    /// Appends all digits.
    static func append(_ value: Int64, to output: inout [UInt8]) {
        if value < 0 { output.append(UInt8(ascii: "-")) }
        append(value.magnitude, to: &output)
    }

    /// Appends all digits.
    static func append(_ value: UInt64, to output: inout [UInt8]) {
        let start = output.count
        var rest = value
        repeat {
            output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        output[start...].reverse()
    }

    /// Appends the shortest text that reads as the same number. JSON has no other numbers, so those become the strings
    /// of protobuf's JSON: `"NaN"`, `"Infinity"`, `"-Infinity"`.
    static func append(_ value: Double, to output: inout [UInt8]) {
        if value.isFinite {
            output += value.description.utf8
        } else if value.isNaN {
            output += "\"NaN\"".utf8
        } else {
            output += (value < 0 ? "\"-Infinity\"" : "\"Infinity\"").utf8
        }
    }
}
