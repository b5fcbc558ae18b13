/// A set of positions, as ranges that do not touch.
package struct Positions: Equatable, Sendable, CustomStringConvertible {
    private var ranges: [Range<UInt64>] = []

    package init(_ pieces: [Range<UInt64>]) {
        for piece in pieces.sorted(by: { $0.lowerBound < $1.lowerBound }) where !piece.isEmpty {
            if let last = ranges.last, piece.lowerBound <= last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, piece.upperBound)
            } else {
                ranges.append(piece)
            }
        }
    }

    package var isEmpty: Bool { ranges.isEmpty }
    package func contains(_ position: UInt64) -> Bool { ranges.contains { $0.contains(position) } }
    package var description: String {
        isEmpty
            ? "no positions"
            : "positions " + ranges.map { "\($0.lowerBound)..<\($0.upperBound)" }.joined(separator: ", ")
    }
}
