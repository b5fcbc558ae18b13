#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A type that is written directly, without an encoder. Foundation's types conform because their own `encode(to:)`
/// produces other forms than events use: a number for a date, an object for a URL.
protocol JSONScalar {
    /// - Parameter depth: How many more levels of objects and arrays are allowed.
    /// - Returns: False if `null` was written for a value that JSON cannot represent.
    func write(to text: inout JSONText, depth: Int) -> Bool
}

extension Bool: JSONScalar {
    func write(to text: inout JSONText, depth: Int) -> Bool {
        text.append(self)
        return true
    }
}

extension String: JSONScalar {
    func write(to text: inout JSONText, depth: Int) -> Bool {
        text.append(string: self)
        return true
    }
}

extension JSONScalar where Self: FixedWidthInteger {
    func write(to text: inout JSONText, depth: Int) -> Bool {
        if let small = Int64(exactly: self) {
            text.append(small)
        } else {
            text.bytes.append(contentsOf: description.utf8)
        }
        return true
    }
}

extension Int: JSONScalar {}
extension Int8: JSONScalar {}
extension Int16: JSONScalar {}
extension Int32: JSONScalar {}
extension Int64: JSONScalar {}
extension Int128: JSONScalar {}
extension UInt: JSONScalar {}
extension UInt8: JSONScalar {}
extension UInt16: JSONScalar {}
extension UInt32: JSONScalar {}
extension UInt64: JSONScalar {}
extension UInt128: JSONScalar {}

extension Double: JSONScalar {
    func write(to text: inout JSONText, depth: Int) -> Bool { text.append(self) }
}

extension Float: JSONScalar {
    func write(to text: inout JSONText, depth: Int) -> Bool { text.append(self) }
}

extension Decimal: JSONScalar {
    /// Writes all digits, with a decimal point in every locale.
    func write(to text: inout JSONText, depth: Int) -> Bool {
        guard isFinite else {
            text.append("null")
            return false
        }
        text.bytes.append(contentsOf: description.utf8)
        return true
    }
}

extension Date: JSONScalar {
    func write(to text: inout JSONText, depth: Int) -> Bool {
        text.append(byte: "\"")
        guard RFC3339.append(self, to: &text) else {
            text.bytes.removeLast()
            text.append("null")
            return false
        }
        text.append(byte: "\"")
        return true
    }
}

extension URL: JSONScalar {
    func write(to text: inout JSONText, depth: Int) -> Bool {
        text.append(string: absoluteString)
        return true
    }
}

extension Data: JSONScalar {
    func write(to text: inout JSONText, depth: Int) -> Bool {
        text.append(string: base64EncodedString())
        return true
    }
}

extension PropertyValue: JSONScalar {
    /// Members are sorted by name, so that equal values have the same text.
    func write(to text: inout JSONText, depth: Int) -> Bool {
        switch self {
        case .null:
            text.append("null")
            return true
        case .bool(let value): return value.write(to: &text, depth: depth)
        case .int(let value): return value.write(to: &text, depth: depth)
        case .double(let value): return value.write(to: &text, depth: depth)
        case .decimal(let value): return value.write(to: &text, depth: depth)
        case .string(let value): return value.write(to: &text, depth: depth)
        case .array, .dictionary:
            guard depth > 0 else {
                text.append("null")
                return false
            }
        }
        var isWhole = true
        var isFirst = true
        if case .array(let values) = self {
            text.append(byte: "[")
            for value in values {
                if !isFirst { text.append(byte: ",") }
                isFirst = false
                if !value.write(to: &text, depth: depth - 1) { isWhole = false }
            }
            text.append(byte: "]")
        } else if case .dictionary(let members) = self {
            text.append(byte: "{")
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                if !isFirst { text.append(byte: ",") }
                isFirst = false
                text.append(string: name)
                text.append(byte: ":")
                if !value.write(to: &text, depth: depth - 1) { isWhole = false }
            }
            text.append(byte: "}")
        }
        return isWhole
    }
}
