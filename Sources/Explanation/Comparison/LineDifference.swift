/// The difference between two lists of lines.
struct LineDifference: Equatable {
    struct Line: Equatable {
        enum Mark: String {
            case same = " "
            case removed = "-"
            case added = "+"
        }

        var mark: Mark
        var text: String
    }

    /// Comparing takes the product of both lengths, and as many bytes. Beyond this product, everything between the
    /// first and the last difference counts as replaced.
    private static let limit = 4_000_000

    private(set) var lines: [Line] = []

    init(_ lines: [Line]) { self.lines = lines }

    init(from old: [String], to new: [String]) {
        let start = zip(old, new).prefix { $0 == $1 }.count
        let end = zip(old.dropFirst(start).reversed(), new.dropFirst(start).reversed()).prefix { $0 == $1 }.count
        let (before, after) = (Array(old[start..<old.count - end]), Array(new[start..<new.count - end]))
        add(.same, old[..<start])
        if before.count * after.count <= Self.limit {
            compare(before, after)
        } else {
            add(.removed, before[...])
            add(.added, after[...])
        }
        add(.same, old[(old.count - end)...])
    }

    private mutating func add(_ mark: Line.Mark, _ texts: ArraySlice<String>) {
        for text in texts { lines.append(Line(mark: mark, text: text)) }
    }

    /// The longest common subsequence stays.
    private mutating func compare(_ old: [String], _ new: [String]) {
        let width = new.count + 1
        // The length of the longest common subsequence of the rests.
        var longest = [UInt16](repeating: 0, count: (old.count + 1) * width)
        for a in old.indices.reversed() {
            for b in new.indices.reversed() {
                longest[a * width + b] =
                    old[a] == new[b]
                    ? longest[(a + 1) * width + b + 1] + 1
                    : max(longest[(a + 1) * width + b], longest[a * width + b + 1])
            }
        }
        var (a, b) = (0, 0)
        while a < old.count || b < new.count {
            if a < old.count, b < new.count, old[a] == new[b] {
                lines.append(Line(mark: .same, text: old[a]))
                a += 1
                b += 1
            } else if b == new.count || a < old.count && longest[(a + 1) * width + b] >= longest[a * width + b + 1] {
                lines.append(Line(mark: .removed, text: old[a]))
                a += 1
            } else {
                lines.append(Line(mark: .added, text: new[b]))
                b += 1
            }
        }
    }

    /// The lines within `distance` of a difference. A run of other lines becomes nil.
    func excerpt(_ distance: Int) -> [Line?] {
        var isShown = [Bool](repeating: false, count: lines.count)
        for (place, line) in lines.enumerated() where line.mark != .same {
            for near in max(0, place - distance)...min(lines.count - 1, place + distance) { isShown[near] = true }
        }
        var excerpt: [Line?] = []
        for (place, line) in lines.enumerated() {
            if isShown[place] {
                excerpt.append(line)
            } else if excerpt.isEmpty || excerpt.last != .some(nil) {
                excerpt.append(nil)
            }
        }
        return excerpt
    }
}
