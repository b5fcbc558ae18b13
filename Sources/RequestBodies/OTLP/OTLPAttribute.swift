import Events

/// One attribute of a log record, a resource or a scope, or one member of a list of keys and values: ranges of the
/// request's bytes.
struct OTLPAttribute {
    var key: Range<Int>
    /// The AnyValue; nil if there is none.
    var value: Range<Int>?
    /// It is not written where it stands: a later one has the same key, or it becomes another field of the event.
    var isHidden = false

    /// Reads a KeyValue.
    init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(OTLPFault) {
        key = range.lowerBound..<range.lowerBound
        var reader = ProtobufReader(bytes, in: range)
        while let field = try reader.nextField() {
            guard case .bytes(let range) = field.value else { continue }
            switch field.number {
            case 1: key = range
            case 2: value = range
            default: break
            }
        }
    }

    /// Hides every attribute from `start` on that has the key of a later one: the last one counts.
    static func hideRepeated(in attributes: inout [OTLPAttribute], from start: Int, of bytes: Span<UInt8>) {
        guard attributes.count - start > 32 else {
            for index in start..<attributes.count {
                let key = attributes[index].key
                for later in index + 1..<max(attributes.count, index + 1)
                where attributes[later].key.count == key.count {
                    guard bytes.extracting(attributes[later].key).hasBytes(of: bytes.extracting(key)) else { continue }
                    attributes[index].isHidden = true
                    break
                }
            }
            return
        }
        // The time of the loop above grows with the square of the count.
        var seen: Set<[UInt8]> = []
        for index in (start..<attributes.count).reversed() {
            var key: [UInt8] = []
            key.append(contentsOf: bytes.extracting(attributes[index].key))
            if !seen.insert(key).inserted { attributes[index].isHidden = true }
        }
    }
}
