import Events

/// The events of an offer as lines, one for each event: the form that `EventAdmission` takes. Its memory is reused.
struct OfferLines {
    private(set) var bytes: [UInt8] = []
    /// The index in the offer of each line's event.
    private(set) var indices: [Int] = []
    /// The events that are no line.
    private(set) var refused: [(index: Int, refusal: Refusal)] = []
    /// The number of events that were left out.
    private(set) var repeated = 0

    /// - Parameter mark: leaves out the events that are not above it, nor above the one before; nil: leaves out none.
    mutating func write(_ offer: ReceivedOffer, above mark: OriginPlace?) {
        bytes.removeAll(keepingCapacity: true)
        indices.removeAll(keepingCapacity: true)
        refused.removeAll(keepingCapacity: true)
        repeated = 0
        bytes.reserveCapacity(offer.bytes.count + offer.events.count)
        unsafe offer.bytes.withUnsafeBytes { unsafe write(offer, $0, above: mark) }
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
            guard unsafe event.contains(where: { !Self.isSpace($0) }) else {
                refused.append((index, Refusal(reason: .invalidJSON, detail: "the event is empty: send a JSON object")))
                continue
            }
            let start = bytes.count
            unsafe bytes.append(contentsOf: event)
            if unsafe Self.hasLineFeed(event), !replaceLineFeeds(from: start) {
                bytes.removeLast(bytes.count - start)
                refused.append(
                    (
                        index,
                        Refusal(
                            reason: .invalidJSON,
                            detail: "a string of the event contains a line feed: write it as an escape, \\n")
                    ))
                continue
            }
            bytes.append(0x0A)
            indices.append(index)
        }
    }

    /// Without an early exit, so that the compiler looks at many bytes at once: line feeds are rare.
    private static func hasLineFeed(_ event: UnsafeRawBufferPointer) -> Bool {
        var found: UInt8 = 0
        for i in 0..<event.count { found |= unsafe event[i] == 0x0A ? 1 : 0 }
        return found != 0
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// Replaces line feeds between the tokens of an event by spaces.
    /// - Returns: false if there is one inside a string.
    private mutating func replaceLineFeeds(from start: Int) -> Bool {
        var isInString = false
        var isEscaped = false
        for place in start..<bytes.count {
            let byte = bytes[place]
            if byte == 0x0A {
                if isInString { return false }
                bytes[place] = 0x20
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
