import Events
import Hashing

/// A mapping with the settings to run it.
package struct MappingSetting {
    package var mapping: Mapping
    /// Returns the value of a secret, given its name.
    package var secret: (String) -> String
    /// Maximum size of the output, in bytes.
    package var limit: Int

    package init(_ mapping: Mapping, limit: Int, secret: @escaping (String) -> String) {
        self.mapping = mapping
        self.limit = limit
        self.secret = secret
    }
}

/// A mapping bound to a destination's path table. Writes the output for one event after another. One thread.
final class MappingProgram {
    enum Outcome {
        /// `messageID` is the range of the message id's contents in the output; empty if the output does not hold it.
        case written(messageID: Range<Int>)
        /// The mapping's value is missing for this event.
        case nothing
        /// The output exceeds the size limit.
        case tooLarge
        /// The event needs more than `MappingRun.maximumSteps`.
        case tooLong
    }

    private let root: any MappingNode
    private let paths: [Int]
    private let run: MappingRun

    let limit: Int

    /// - Parameter journal: the 16 bytes from which message ids are derived.
    init(_ setting: MappingSetting, journal: [UInt8], _ table: inout PathTable) {
        let mapping = setting.mapping
        limit = setting.limit
        root = mapping.root
        paths = mapping.scopes[0].map { table.reading($0) }
        run = MappingRun(
            inner: mapping.scopes.dropFirst().map { paths in
                var table = PathTable()
                for path in paths { _ = table.index(of: path) }
                return (EventFields(table), Array(paths.indices))
            }, sizes: mapping.scopeSizes,
            secrets: mapping.secrets.map(setting.secret), limit: setting.limit, journal: journal)
    }

    /// Appends JSON to `output`, without a line feed. Appends nothing unless the outcome is `.written`.
    /// - Parameter suffix: appended to the message id if the id is derived.
    func write(_ view: borrowing EventView, suffix: String = "", into output: inout [UInt8]) -> Outcome {
        let start = output.count
        run.startEvent(view.moment, suffix: suffix)
        let isWritten = root.write(MappingScope(view: view.copied(), paths: paths, run: run), to: &output)
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

/// State that the nodes of a mapping share during a run. One thread.
final class MappingRun {
    /// Maximum steps for one event. One step is about one inspected byte. A value that is inspected before it is
    /// written costs its size plus `stepsOfPart`. Running an inner scope costs the size of its value plus `stepsOfPart`
    /// for each value compiled in it. Without this bound, a few nested lists could take hours. The bound is two
    /// thousand times the size of a 32 KiB event and takes less than a second.
    static let maximumSteps = 64 << 20
    private static let stepsOfPart = 32
    private static let stepsOfUnicode = 16

    /// The bound that was exceeded, which stops the output for this event.
    enum Excess { case size, time }

    /// Fields and paths of each inner scope. The index is the scope number minus one.
    let inner: [(fields: EventFields, paths: [Int])]
    /// Steps for entering each scope, indexed by scope number.
    private let entrySteps: [Int]
    /// The secrets' values, as contents of JSON strings.
    let secrets: [[UInt8]]
    /// Digests for `$hash`: the first has no key, the others use one secret each as the key. Created on first use.
    private var digests: [Digest?]
    private let keys: [String]
    private let limit: Int
    private let journal: [UInt8]

    private var moment = EventMoment()
    private var suffix = ""
    private var stepsLeft = maximumSteps
    /// Set when a bound is exceeded. Everything written after that is discarded.
    private(set) var excess: Excess?
    /// Range of the message id's contents in the output, where it was written first.
    private(set) var messageID: Range<Int>?
    /// Free buffers for values that are inspected before they are written.
    private var spare: [[UInt8]] = []
    private var spareMembers: [MemberList] = []
    /// Number of buffers in use. While it is not 0, nodes write to a buffer and not to the output.
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

    var receivedAt: Int64 { moment.firstReceivedAt }

    func startEvent(_ moment: EventMoment, suffix: String) {
        self.moment = moment
        self.suffix = suffix
        stepsLeft = Self.maximumSteps
        excess = nil
        messageID = nil
    }

    /// Whether a value may have `count` bytes. After the first excess, always false for the rest of the event.
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

    /// Charges for text whose characters were looked up in Unicode's tables, the slowest operation of a mapping.
    func noteUnicode(bytes: Int) { take(bytes * Self.stepsOfUnicode) }

    /// Charges for entering an inner scope with a value of `bytes` bytes. Returns false if a bound is exceeded.
    func enters(_ scope: Int, bytes: Int) -> Bool {
        take(entrySteps[scope] + bytes)
        return excess == nil
    }

    func appendDerivedID(to output: inout [UInt8]) {
        let journal = self.journal
        MessageID.appendDerived(journal: journal.span, position: moment.position, to: &output)
        output.append(contentsOf: suffix.utf8)
    }

    /// - Parameter key: index of a secret; nil: no key.
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

    /// Returns an empty buffer. The caller must return it with `giveBack`.
    func takeBuffer() -> [UInt8] {
        taken += 1
        return spare.popLast() ?? []
    }

    func giveBack(_ buffer: inout [UInt8]) {
        taken -= 1
        take(buffer.count + Self.stepsOfPart)
        var emptied: [UInt8] = []
        swap(&emptied, &buffer)
        // Free a buffer that one huge event has grown.
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
