import Events

/// A mapping and what it needs to run.
package struct MappingSetting {
    package var mapping: Mapping
    /// Gives the value of each of `mapping.secrets`.
    package var secret: (String) -> String
    /// Bytes that the output may have.
    package var limit: Int

    package init(_ mapping: Mapping, limit: Int, secret: @escaping (String) -> String) {
        self.mapping = mapping
        self.limit = limit
        self.secret = secret
    }
}

/// A mapping bound to a destination's path table: writes what the destination gets for one event
/// after the other. One thread.
final class MappingProgram {
    enum Outcome {
        /// With the place of the message id's contents in the output; empty if it is not there.
        case written(messageID: Range<Int>)
        /// The mapping comes to nothing for this event.
        case nothing
        /// The output has more bytes than it may have.
        case tooLarge
        /// It takes more steps than an event may take: see `MappingRun.maximumSteps`.
        case tooLong
    }

    private let root: any MappingNode
    private let paths: [Int]
    private let run: MappingRun

    let limit: Int

    /// - Parameter journal: the 16 bytes that message ids derive from.
    init(_ setting: MappingSetting, journal: [UInt8], _ table: inout PathTable) {
        let mapping = setting.mapping
        limit = setting.limit
        root = mapping.root
        paths = mapping.scopes[0].map { table.index(of: $0) }
        run = MappingRun(
            inner: mapping.scopes.dropFirst().map { paths in
                var table = PathTable()
                for path in paths { _ = table.index(of: path) }
                return (EventFields(table), Array(paths.indices))
            }, sizes: mapping.scopeSizes,
            secrets: mapping.secrets.map(setting.secret), limit: setting.limit, journal: journal)
    }

    /// Appends JSON to `output`, no line feed; nothing, unless the outcome is `.written`.
    /// - Parameter suffix: of the message id, if one has to be derived.
    func write(_ view: borrowing EventView, suffix: String = "", into output: inout [UInt8]) -> Outcome {
        let start = output.count
        run.startEvent(view.moment, suffix: suffix)
        let isWritten = root.write(MappingScope(view: copy view, paths: paths, run: run), to: &output)
        guard isWritten, run.allows(output.count - start) else {
            output.removeLast(output.count - start)
            switch run.excess {
            case nil: return .nothing
            case .size: return .tooLarge
            case .time: return .tooLong
            }
        }
        return .written(messageID: run.messageID ?? start..<start)
    }
}

/// What the nodes of a mapping share while they run. One thread.
final class MappingRun {
    /// What an event's mapping may take, in bytes that are looked at: a value that is looked at before it is
    /// written counts as its bytes and `stepsOfPart`, a shape for an item as the item's bytes and `stepsOfPart` for
    /// each of its parts. Without it, a few lists inside one another would take hours. It is two thousand times an
    /// event of 32 KiB, and less than a second.
    static let maximumSteps = 64 << 20
    private static let stepsOfPart = 32
    private static let stepsOfUnicode = 16

    /// Why nothing more is written for this event.
    enum Excess { case size, time }

    /// Of each inner scope, by its number less one.
    let inner: [(fields: EventFields, paths: [Int])]
    /// Steps for each time that the scope is entered, by its number.
    private let entrySteps: [Int]
    /// Contents of JSON strings.
    let secrets: [[UInt8]]
    /// For `$hash`: without a key, and keyed with each of the secrets; made when first asked for.
    private var digests: [Digest?]
    private let keys: [String]
    private let limit: Int
    private let journal: [UInt8]

    private var moment = EventMoment()
    private var suffix = ""
    private var stepsLeft = maximumSteps
    /// Set once a bound is passed; whatever is written after that is thrown away.
    private(set) var excess: Excess?
    /// Where the contents of the message id were put, the first time.
    private(set) var messageID: Range<Int>?
    /// Memory for values that are looked at before they are written.
    private var spare: [[UInt8]] = []
    private var spareMembers: [MemberList] = []
    /// Buffers taken: what goes into one of them is not the output yet.
    private var taken = 0

    init(inner: [(fields: EventFields, paths: [Int])], sizes: [Int], secrets: [String], limit: Int, journal: [UInt8]) {
        self.inner = inner
        entrySteps = sizes.map { ($0 + 1) * Self.stepsOfPart }
        keys = secrets
        self.secrets = secrets.map { secret in
            var contents: [UInt8] = []
            JSONText.appendContents(secret.utf8.span, to: &contents)
            return contents
        }
        digests = Array(repeating: nil, count: secrets.count + 1)
        self.limit = limit
        self.journal = journal
    }

    var receivedAt: Int64 { moment.receivedAt }

    func startEvent(_ moment: EventMoment, suffix: String) {
        self.moment = moment
        self.suffix = suffix
        stepsLeft = Self.maximumSteps
        excess = nil
        messageID = nil
    }

    /// Whether a value may have that many bytes; once one may not, nothing may.
    @inline(__always)
    func allows(_ count: Int) -> Bool {
        if count > limit, excess == nil { excess = .size }
        return excess == nil
    }

    @inline(__always)
    private func take(_ steps: Int) {
        stepsLeft -= steps
        if stepsLeft < 0, excess == nil { excess = .time }
    }

    /// Text whose characters were looked up in Unicode's tables, which takes longer than all else.
    func noteUnicode(bytes: Int) { take(bytes * Self.stepsOfUnicode) }

    /// Whether an inner scope may be entered for a value of so many bytes.
    func enters(_ scope: Int, bytes: Int) -> Bool {
        take(entrySteps[scope] + bytes)
        return excess == nil
    }

    func appendDerivedID(to output: inout [UInt8]) {
        let journal = self.journal
        MessageID.appendDerived(journal: journal.span, position: moment.position, to: &output)
        output.append(contentsOf: suffix.utf8)
    }

    /// - Parameter key: a number among the secrets; nil: no key.
    func digest(key: Int?) -> Digest {
        let place = key.map { $0 + 1 } ?? 0
        if let known = digests[place] { return known }
        let made = Digest(key: key.map { Array(keys[$0].utf8) })
        digests[place] = made
        return made
    }

    func noteMessageID(_ range: Range<Int>) {
        if messageID == nil, taken == 0 { messageID = range }
    }

    /// An empty buffer, to be given back.
    func takeBuffer() -> [UInt8] {
        taken += 1
        return spare.popLast() ?? []
    }

    func giveBack(_ buffer: inout [UInt8]) {
        taken -= 1
        take(buffer.count + Self.stepsOfPart)
        var emptied: [UInt8] = []
        swap(&emptied, &buffer)
        // What one huge event needed is not kept for ever.
        guard emptied.capacity <= Self.largestSpare else { return }
        emptied.removeAll(keepingCapacity: true)
        spare.append(emptied)
    }

    func takeMembers() -> MemberList {
        taken += 1
        return spareMembers.popLast() ?? MemberList()
    }

    func giveBack(_ members: inout MemberList) {
        taken -= 1
        take(members.bytes.count + Self.stepsOfPart)
        var emptied = MemberList()
        swap(&emptied, &members)
        guard emptied.bytes.capacity <= Self.largestSpare else { return }
        emptied.removeAll()
        spareMembers.append(emptied)
    }

    private static let largestSpare = 64 << 10
}
