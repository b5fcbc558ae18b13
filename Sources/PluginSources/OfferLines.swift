import Events

/// The events of an offer as lines, one for each event: the form that `EventAdmission` takes. Its memory is reused.
struct OfferLines {
    /// The lines, if they are not those of the message.
    private var copy: [UInt8] = []
    /// Where the lines lie in the message; nil: they are the copy.
    private var original: Range<Int>?
    /// The index in the offer of each line's event; empty: each line is the event with its number.
    private var indices: [Int] = []
    /// The events that are no line.
    private(set) var refused: [(index: Int, refusal: Refusal)] = []
    /// The number of events that were left out.
    private(set) var repeated = 0

    /// The index in the offer of a line's event.
    func index(of line: Int) -> Int { original == nil ? indices[line] : line }

    /// By line: when another host received the event first; empty: that is not known.
    func times(of offer: ReceivedOffer) -> [Int64] {
        original != nil || offer.times.isEmpty ? offer.times : indices.map { offer.times[$0] }
    }

    /// Lends the lines.
    /// - Parameter offer: the one that was written last.
    func withBytes<Value>(of offer: ReceivedOffer, _ body: (Span<UInt8>) -> Value) -> Value {
        if let original { return body(offer.bytes.span.extracting(original)) }
        return body(copy.span)
    }

    /// - Parameter mark: leaves out the events that are not above it, nor above the one before; nil: leaves out none.
    mutating func write(_ offer: ReceivedOffer, above mark: OriginPlace?) {
        copy.removeAll(keepingCapacity: true)
        indices.removeAll(keepingCapacity: true)
        refused.removeAll(keepingCapacity: true)
        repeated = 0
        // Almost every offer: nothing is copied.
        original = offer.areLines && Self.areNew(offer.places, above: mark) ? offer.lines : nil
        guard original == nil else { return }
        copy.reserveCapacity(offer.bytes.count)
        unsafe offer.bytes.withUnsafeBytes { unsafe write(offer, $0, above: mark) }
    }

    /// Whether the places rise, from above the mark.
    private static func areNew(_ places: [OriginPlace], above mark: OriginPlace?) -> Bool {
        var last = mark
        for place in places {
            if let last, place <= last { return false }
            last = place
        }
        return true
    }

    private mutating func write(_ offer: ReceivedOffer, _ message: UnsafeRawBufferPointer, above mark: OriginPlace?) {
        var last = mark
        for index in offer.events.indices {
            if offer.origin != nil {
                let place = offer.places[index]
                if let last, place <= last {
                    repeated += 1
                    continue
                }
                last = place
            }
            let event = unsafe UnsafeRawBufferPointer(rebasing: message[offer.events[index]])
            // The scanner leaves out such a line without a word.
            guard unsafe event.contains(where: { !ReceivedOffer.isSpace($0) }) else {
                refused.append((index, Refusal(reason: .invalidJSON, detail: "the event is empty: send a JSON object")))
                continue
            }
            let start = copy.count
            unsafe copy.append(contentsOf: event)
            if unsafe !ReceivedOffer.isLine(event), !replaceLineFeeds(from: start) {
                copy.removeLast(copy.count - start)
                refused.append(
                    (
                        index,
                        Refusal(
                            reason: .invalidJSON,
                            detail: "a string of the event contains a line feed: write it as an escape, \\n")
                    ))
                continue
            }
            copy.append(0x0A)
            indices.append(index)
        }
    }

    /// Replaces line feeds between the tokens of an event by spaces.
    /// - Returns: false if there is one inside a string.
    private mutating func replaceLineFeeds(from start: Int) -> Bool {
        var isInString = false
        var isEscaped = false
        for place in start..<copy.count {
            let byte = copy[place]
            if byte == 0x0A {
                if isInString { return false }
                copy[place] = 0x20
            }
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            } else if isInString, byte == UInt8(ascii: "\\") {
                isEscaped = true
            }
        }
        return true
    }
}
