import Events

/// Replacements of bytes of an event, in the order of the event's bytes. Replacements at one place keep the order in
/// which they were added.
struct Splices {
    private struct Splice: BitwiseCopyable {
        var offset: Int
        var removed: Int
        /// The replacement, in the overlay's text. Absent: the bytes are removed.
        var text: Slice

        var growth: Int { (text.isPresent ? Int(text.length) : 0) - removed }
    }

    /// The first `count` splices are this event's. The others are spare memory.
    private var splices: [Splice] = []
    private var count = 0

    mutating func removeAll() { count = 0 }

    mutating func add(_ range: Range<Int>, _ text: Slice) {
        let splice = Splice(offset: range.lowerBound, removed: range.count, text: text)
        if count == splices.count { splices.append(splice) }
        // Splices arrive nearly in order.
        var place = count
        while place > 0, splices[place - 1].offset > splice.offset {
            splices[place] = splices[place - 1]
            place -= 1
        }
        splices[place] = splice
        count += 1
    }

    /// Appends a piece of the event with its replacements.
    func write(_ range: Range<Int>, of json: Span<UInt8>, _ text: Span<UInt8>, into output: inout [UInt8]) {
        var copied = range.lowerBound
        for k in 0..<count {
            let splice = splices[k]
            output.append(contentsOf: json.extracting(copied..<splice.offset))
            if splice.text.isPresent { output.append(contentsOf: text.extracting(splice.text.range)) }
            copied = splice.offset + splice.removed
        }
        output.append(contentsOf: json.extracting(copied..<range.upperBound))
    }

    /// The place, in the whole output event, of a byte that stays.
    func place(of offset: Int) -> Int {
        var place = offset
        for k in 0..<count where splices[k].offset <= offset { place += splices[k].growth }
        return place
    }

    /// The place of a text in the output event. Nil: it is not written.
    func place(ofText text: Slice) -> Int? {
        var growth = 0
        for k in 0..<count {
            let splice = splices[k]
            if splice.text.offset == text.offset { return splice.offset + growth }
            growth += splice.growth
        }
        return nil
    }
}
