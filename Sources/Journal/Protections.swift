/// What keeps the journal whole, one by one: each sync, each order, each check. All of them are on
/// wherever a journal is in use, and no configuration reaches them. The simulator takes them out one
/// at a time, to see that each is missed (DocC: Proof).
package struct Protections: OptionSet, BitwiseCopyable, Sendable, Hashable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    private init(bit: UInt64) { rawValue = 1 << bit }

    package static let all = Protections(rawValue: .max)

    // Syncs of files.

    /// Of a commit, before anybody is told of it.
    package static let commitSync = Protections(bit: 0)
    /// Of a segment that is full, with its seal.
    package static let sealSync = Protections(bit: 1)
    /// Of the spare's zeros, before it gets its name.
    package static let spareSync = Protections(bit: 2)
    /// Of what recovery found in the last segment, before anybody is told of it.
    package static let recoverySync = Protections(bit: 3)
    /// Of a seal that recovery adds.
    package static let recoverySealSync = Protections(bit: 4)
    package static let manifestSync = Protections(bit: 5)
    /// Of a slot of the cursor file.
    package static let cursorSync = Protections(bit: 6)
    /// Of a cursor file that takes another one's place.
    package static let cursorFileSync = Protections(bit: 7)
    package static let deadLetterSync = Protections(bit: 8)
    package static let quarantineSync = Protections(bit: 9)

    // Syncs of directories.

    /// Above the journal's directory, when that was made.
    package static let parentDirectorySync = Protections(bit: 10)
    package static let manifestDirectorySync = Protections(bit: 11)
    package static let cursorDirectorySync = Protections(bit: 12)
    /// After the spare got its name: before it gets another.
    package static let spareDirectorySync = Protections(bit: 13)
    /// After the spare became a segment.
    package static let segmentDirectorySync = Protections(bit: 14)
    /// After recovery looked at the segments.
    package static let recoveryDirectorySync = Protections(bit: 15)
    /// Of the journal's directory, after a segment was removed and before the next one is.
    package static let removalDirectorySync = Protections(bit: 16)
    /// Of a destination's directory, when a file of dead letters was made.
    package static let deadLetterDirectorySync = Protections(bit: 17)
    /// Of `dead-letters`, when a destination's directory was made.
    package static let deadLettersDirectorySync = Protections(bit: 18)
    /// Of the journal's directory, when `dead-letters` was made.
    package static let deadLettersEntrySync = Protections(bit: 19)
    /// Of `quarantine`, when a copy got its name.
    package static let quarantineDirectorySync = Protections(bit: 20)
    /// Of the journal's directory, when `quarantine` was made.
    package static let quarantineEntrySync = Protections(bit: 21)

    // Orders.

    /// An acknowledgement comes after the sync.
    package static let acknowledgeAfterSync = Protections(bit: 22)
    /// Readers see an event after the sync.
    package static let publishAfterSync = Protections(bit: 23)
    /// Readers see only what no second attempt can change.
    package static let publishCommittedOnly = Protections(bit: 24)
    /// A file that failed is never written or synced again.
    package static let retireFailedFile = Protections(bit: 25)
    /// Retention goes by cursors that are on disk.
    package static let retainByDurableCursors = Protections(bit: 26)
    /// A cursor that is pushed on is on disk before the segment below it goes.
    package static let commitBeforeRemoval = Protections(bit: 27)
    /// Two slots, in turn.
    package static let alternateSlots = Protections(bit: 28)
    /// Damaged bytes are copied before anything can remove them.
    package static let quarantineCopy = Protections(bit: 29)
    /// No position below a cursor is given again.
    package static let nextAboveCursors = Protections(bit: 30)
    /// A seal that reaches into the next segment is not believed.
    package static let sealBelowNextSegment = Protections(bit: 31)
    /// Batches that were written again in the next segment are not read here.
    package static let batchesBelowNextSegment = Protections(bit: 32)
    /// A torn tail is sealed off.
    package static let sealTornTail = Protections(bit: 33)
    /// What recovery found at the end, and may be in memory only, is written once more.
    package static let rewriteTail = Protections(bit: 34)
    /// The first write of the cursors after a start goes to a new file.
    package static let freshCursorFile = Protections(bit: 35)
    /// A segment that could not be removed stays in the list, and nothing behind it is removed.
    package static let removalInOrder = Protections(bit: 36)
    /// A journal has cursors from its beginning, even if they are of no destination.
    package static let cursorsFromTheBeginning = Protections(bit: 37)

    // Checks.

    /// The journal's UUID in every checksum.
    package static let checksumUUID = Protections(bit: 40)
    /// The segment's number in every checksum.
    package static let checksumSegment = Protections(bit: 41)
    /// The batch's offset in every checksum.
    package static let checksumOffset = Protections(bit: 42)
    package static let headerChecksum = Protections(bit: 43)
    package static let payloadChecksum = Protections(bit: 44)
    package static let cursorChecksum = Protections(bit: 45)
    package static let manifestChecksum = Protections(bit: 46)

    // Live cursors.

    /// Of a slot of `cursors.live`.
    package static let liveChecksum = Protections(bit: 52)
    /// A live cursor above the journal's end is not believed.
    package static let liveBelowEnd = Protections(bit: 53)
    /// What was not believed is off the disk before its positions are given again.
    package static let liveSync = Protections(bit: 54)
}
