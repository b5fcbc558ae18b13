/// The measures that keep the journal whole: each sync, each order, each check. All of them are on in production, and
/// no configuration changes them. The simulator takes them out one at a time, to prove that a test fails without each
/// (DocC: Proof).
package struct Protections: OptionSet, BitwiseCopyable, Sendable, Hashable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    private init(bit: UInt64) { rawValue = 1 << bit }

    package static let all = Protections(rawValue: .max)

    // Syncs of files.

    /// A commit's data, before readers and clients see it.
    package static let commitSync = Protections(bit: 0)
    /// A full segment with its seal.
    package static let sealSync = Protections(bit: 1)
    /// The spare's zeros, before the file gets its name.
    package static let spareSync = Protections(bit: 2)
    /// The batches that recovery found in the last segment, before readers and clients see them.
    package static let recoverySync = Protections(bit: 3)
    /// A seal that recovery adds.
    package static let recoverySealSync = Protections(bit: 4)
    package static let manifestSync = Protections(bit: 5)
    /// A slot of the cursor file.
    package static let cursorSync = Protections(bit: 6)
    /// A cursor file that replaces another.
    package static let cursorFileSync = Protections(bit: 7)
    package static let deadLetterSync = Protections(bit: 8)
    package static let quarantineSync = Protections(bit: 9)

    // Syncs of directories.

    /// The parents of the journal's directory, after the directory was made.
    package static let parentDirectorySync = Protections(bit: 10)
    package static let manifestDirectorySync = Protections(bit: 11)
    package static let cursorDirectorySync = Protections(bit: 12)
    /// The journal's directory, after the spare got its name and before it is renamed again.
    package static let spareDirectorySync = Protections(bit: 13)
    /// The journal's directory, after the spare became a segment.
    package static let segmentDirectorySync = Protections(bit: 14)
    /// The journal's directory, after recovery read the segments.
    package static let recoveryDirectorySync = Protections(bit: 15)
    /// The journal's directory, after a segment was removed and before the next one is.
    package static let removalDirectorySync = Protections(bit: 16)
    /// A destination's directory, after a file of dead letters was made.
    package static let deadLetterDirectorySync = Protections(bit: 17)
    /// `dead-letters`, after a destination's directory was made.
    package static let deadLettersDirectorySync = Protections(bit: 18)
    /// The journal's directory, after `dead-letters` was made.
    package static let deadLettersEntrySync = Protections(bit: 19)
    /// `quarantine`, after a copy got its name.
    package static let quarantineDirectorySync = Protections(bit: 20)
    /// The journal's directory, after `quarantine` was made.
    package static let quarantineEntrySync = Protections(bit: 21)

    // Orders.

    /// An event is acknowledged after the sync.
    package static let acknowledgeAfterSync = Protections(bit: 22)
    /// Readers see an event after the sync.
    package static let publishAfterSync = Protections(bit: 23)
    /// Readers see only events that no second attempt can change.
    package static let publishCommittedOnly = Protections(bit: 24)
    /// After a failure, a file is never written or synced again.
    package static let retireFailedFile = Protections(bit: 25)
    /// Retention uses only cursors that are on disk.
    package static let retainByDurableCursors = Protections(bit: 26)
    /// When `drop_oldest` moves a cursor, the cursor is on disk before the segment below it is removed.
    package static let commitBeforeRemoval = Protections(bit: 27)
    /// The cursor file's two slots are written alternately.
    package static let alternateSlots = Protections(bit: 28)
    /// Damaged bytes are copied before anything can remove them.
    package static let quarantineCopy = Protections(bit: 29)
    /// No position below a cursor is assigned again.
    package static let nextAboveCursors = Protections(bit: 30)
    /// A seal that ends above the next segment's first position is ignored.
    package static let sealBelowNextSegment = Protections(bit: 31)
    /// Batches that were written again to the next segment are not read here.
    package static let batchesBelowNextSegment = Protections(bit: 32)
    /// Recovery seals a torn segment before the tail.
    package static let sealTornTail = Protections(bit: 33)
    /// Recovery writes the last batches again, because they may be in the page cache only.
    package static let rewriteTail = Protections(bit: 34)
    /// The first write of the cursors after a start makes a new file.
    package static let freshCursorFile = Protections(bit: 35)
    /// A segment that could not be removed stays in the list, and no later segment is removed.
    package static let removalInOrder = Protections(bit: 36)
    /// A journal has a cursor file before its first segment, even without destinations.
    package static let cursorsFromTheBeginning = Protections(bit: 37)

    // Checks.

    /// Every checksum includes the journal's UUID.
    package static let checksumUUID = Protections(bit: 40)
    /// Every checksum includes the segment's first position.
    package static let checksumSegment = Protections(bit: 41)
    /// Every checksum includes the batch's offset.
    package static let checksumOffset = Protections(bit: 42)
    package static let headerChecksum = Protections(bit: 43)
    package static let payloadChecksum = Protections(bit: 44)
    package static let cursorChecksum = Protections(bit: 45)
    package static let manifestChecksum = Protections(bit: 46)

    // Live cursors.

    /// The checksum of a slot of `cursors.live.N`.
    package static let liveChecksum = Protections(bit: 52)
    /// Live cursors are clipped to the journal's end.
    package static let liveBelowEnd = Protections(bit: 53)
    /// The directory, after the live cursors of an earlier start were replaced, before a position is assigned again.
    package static let liveSync = Protections(bit: 54)
    /// The checksum of a slot of `cursors.live.N` includes N.
    package static let liveNumber = Protections(bit: 55)

    // Lanes.

    /// A segment begins with all lanes.
    package static let laneTable = Protections(bit: 56)
    /// A lane's position counts only if the batch before it was not lost.
    package static let laneChain = Protections(bit: 57)
    /// The segment that holds the lanes is not removed before a later one holds them.
    package static let laneRetention = Protections(bit: 59)
    /// A journal with an interrupted write of a lane's events is not opened before this is recorded in the seal.
    package static let laneSeal = Protections(bit: 60)
    /// Where the last segment's beginning is not whole, the lanes are read from earlier segments.
    package static let lanesOfEarlierSegments = Protections(bit: 58)
}
