import Events

/// Copies an object without the offending values, at any depth.
struct StrippedObject {
    /// Start offsets of the offending values, sorted. No other value starts at one of them.
    private let offenders: [Int]
    /// Index of the first offender not reached yet.
    private var next = 0
    private var output: [UInt8] = []

    /// - Parameters:
    ///   - object: the object's range, with its brackets.
    ///   - offenders: start offsets of the values to leave out.
    static func append(_ object: Range<Int>, of json: Span<UInt8>, without offenders: [Int], to output: inout [UInt8]) {
        var copy = StrippedObject(offenders)
        swap(&copy.output, &output)
        copy.append(object, of: json)
        swap(&copy.output, &output)
    }

    private init(_ offenders: [Int]) { self.offenders = offenders.sorted() }

    private mutating func append(_ container: Range<Int>, of json: Span<UInt8>) {
        guard next < offenders.count, offenders[next] < container.upperBound else {
            output.append(contentsOf: json.extracting(container))
            return
        }
        output.append(json[container.lowerBound])
        var isFirst = true
        if json[container.lowerBound] == UInt8(ascii: "{") {
            var cursor = ObjectCursor(container)
            while let member = cursor.next(in: json) {
                append(member.value, from: member.range.lowerBound, of: json, &isFirst)
            }
        } else {
            var cursor = ListCursor(container)
            while let item = cursor.next(in: json) {
                append(item, from: item.json?.lowerBound ?? container.lowerBound, of: json, &isFirst)
            }
        }
        output.append(json[container.upperBound - 1])
    }

    /// - Parameter start: offset of the member's key, or of the item.
    private mutating func append(_ value: FieldValue, from start: Int, of json: Span<UInt8>, _ isFirst: inout Bool) {
        guard let range = value.json else { return }
        if next < offenders.count, offenders[next] == range.lowerBound {
            next += 1
            return
        }
        if !isFirst { output.append(UInt8(ascii: ",")) }
        isFirst = false
        output.append(contentsOf: json.extracting(start..<range.lowerBound))
        if value.type == .object || value.type == .array {
            append(range, of: json)
        } else {
            output.append(contentsOf: json.extracting(range))
        }
    }
}
