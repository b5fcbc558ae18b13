/// A first-in, first-out queue.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var first = 0

    var isEmpty: Bool { first == elements.count }
    var count: Int { elements.count - first }
    var front: Element? { isEmpty ? nil : elements[first] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[first].take()
        first += 1
        if first == elements.count {
            // Release the memory that a burst has needed.
            elements.removeAll(keepingCapacity: elements.capacity <= 1024)
            first = 0
        } else if first >= 1024, first * 2 >= elements.count {
            elements.removeFirst(first)
            first = 0
        }
        return element
    }
}
