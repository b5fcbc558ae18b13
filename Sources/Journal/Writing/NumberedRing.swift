/// A bounded queue whose elements are numbered in their order. Adding, removing and finding by number take the same
/// time however many there are.
struct NumberedRing<Element> {
    /// Those of the elements; the oldest first.
    private(set) var numbers: Range<UInt64> = 0..<0
    private var slots: [Element?]

    /// - Parameter capacity: at least 1. Rounded up to a power of two, so that finding a slot takes no division.
    init(capacity: Int) {
        var slots = 1
        while slots < capacity { slots *= 2 }
        self.slots = Array(repeating: nil, count: slots)
    }

    var count: Int { numbers.count }

    /// - Precondition: there is an element with this number.
    subscript(number: UInt64) -> Element {
        get { slots[slot(of: number)]! }
        _modify { yield &slots[slot(of: number)]! }
    }

    /// - Precondition: there is room.
    mutating func append(_ element: Element) {
        precondition(count < slots.count, "the ring is full")
        slots[slot(of: numbers.upperBound)] = element
        numbers = numbers.lowerBound..<numbers.upperBound + 1
    }

    /// - Precondition: there is an element.
    mutating func removeFirst() -> Element {
        let element = self[numbers.lowerBound]
        slots[slot(of: numbers.lowerBound)] = nil
        numbers = numbers.lowerBound + 1..<numbers.upperBound
        return element
    }

    /// The number of the last element for which the condition holds; nil: it holds for none.
    /// - Parameter holds: holds for all elements before one for which it holds.
    func lastNumber(where holds: (Element) -> Bool) -> UInt64? {
        var (low, high) = (numbers.lowerBound, numbers.upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if holds(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low > numbers.lowerBound ? low - 1 : nil
    }

    private func slot(of number: UInt64) -> Int { Int(number & UInt64(slots.count - 1)) }
}
