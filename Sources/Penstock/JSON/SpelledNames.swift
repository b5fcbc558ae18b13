/// Event names in the spelling of their policy, as contents of JSON strings. An application has few names and uses them
/// again and again. One thread.
struct SpelledNames {
    private struct Entry {
        var name: String
        var policy: EventNamePolicy
        var contents: [UInt8]
    }

    private static let count = 32

    private var entries: [Entry?] = []

    /// Appends a name without quotes.
    mutating func append(_ name: String, _ policy: EventNamePolicy, to text: inout JSONText) {
        // Equal names have the same place. Others that have it, too, replace each other.
        let place = (name.utf8.count &+ 7 &* Int(name.utf8.first ?? 0)) & (Self.count - 1)
        if place < entries.count, let entry = entries[place], entry.policy == policy, entry.name == name {
            text.bytes.append(contentsOf: entry.contents)
            return
        }
        if entries.isEmpty { entries = Array(repeating: nil, count: Self.count) }
        let start = text.bytes.count
        policy.append(name, to: &text.bytes)
        text.escape(from: start)
        // A name that somebody makes up for each event would only take memory. Two strings of ASCII are equal only if
        // their bytes are.
        guard name.utf8.count <= 100, name.utf8.allSatisfy({ $0 < 0x80 }) else { return }
        entries[place] = Entry(name: name, policy: policy, contents: Array(text.bytes[start...]))
    }
}
