import Testing

@testable import Journal

@Suite struct NumberedRingTests {
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `elements are found by their numbers, also after many turns`(seed: UInt64) {
        var ring = NumberedRing<Int>(capacity: 5)
        var random = Rig.Generator(state: seed)
        var model: [(number: UInt64, element: Int)] = []
        var next: UInt64 = 0
        for step in 0..<1000 {
            if model.count < 5, model.isEmpty || Bool.random(using: &random) {
                ring.append(step)
                model.append((next, step))
                next += 1
            } else {
                #expect(ring.removeFirst() == model.removeFirst().element)
            }
            if let first = model.first {
                ring[first.number] += 10_000
                model[0].element += 10_000
            }
            #expect(ring.count == model.count)
            #expect(Array(ring.numbers) == model.map(\.number))
            #expect(model.allSatisfy { ring[$0.number] == $0.element })
            let limit = step - 2
            #expect(ring.lastNumber { $0 % 10_000 <= limit } == model.last { $0.element % 10_000 <= limit }?.number)
        }
    }

    @Test func `what was removed is released`() {
        final class Element {}
        var ring = NumberedRing<Element>(capacity: 2)
        ring.append(Element())
        weak let first = ring[0]
        _ = ring.removeFirst()
        #expect(first == nil)
    }
}
