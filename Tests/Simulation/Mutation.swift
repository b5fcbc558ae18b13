import Journal

/// A protection that is removed from the journal, and a seed that detects its absence.
struct Mutation {
    var name: String
    var without: Protections
    /// The seed that detects the mutation.
    var seed: UInt64

    init(_ name: String, _ without: Protections, _ seed: UInt64) {
        self.name = name
        self.without = without
        self.seed = seed
    }

    static func named(_ name: String) -> Mutation? { all.first { $0.name == name } }

    static let all: [Mutation] = [
        Mutation("commit-sync", .commitSync, 4),
        Mutation("seal-sync", .sealSync, 4),
        Mutation("spare-sync", .spareSync, 5),
        Mutation("recovery-sync", .recoverySync, 3),
        Mutation("recovery-seal-sync", .recoverySealSync, 78),
        Mutation("manifest-sync", .manifestSync, 3),
        Mutation("cursor-sync", .cursorSync, 20),
        Mutation("cursor-file-sync", .cursorFileSync, 8),
        Mutation("dead-letter-sync", .deadLetterSync, 2),
        Mutation("quarantine-sync", .quarantineSync, 6),
        Mutation("parent-directory-sync", .parentDirectorySync, 1),
        Mutation("manifest-directory-sync", .manifestDirectorySync, 50_077),
        Mutation("cursor-directory-sync", .cursorDirectorySync, 27),
        Mutation("spare-directory-sync", .spareDirectorySync, 236),
        Mutation("segment-directory-sync", .segmentDirectorySync, 16),
        Mutation("recovery-directory-sync", .recoveryDirectorySync, 21),
        Mutation("dead-letter-directory-sync", .deadLetterDirectorySync, 2),
        Mutation("dead-letters-directory-sync", .deadLettersDirectorySync, 8),
        Mutation("dead-letters-entry-sync", .deadLettersEntrySync, 51),
        Mutation("quarantine-directory-sync", .quarantineDirectorySync, 15),
        Mutation("quarantine-entry-sync", .quarantineEntrySync, 577),
        Mutation("removal-directory-sync", .removalDirectorySync, 88),
        Mutation("removal-in-order", .removalInOrder, 888),
        Mutation("fresh-cursor-file", .freshCursorFile, 59),
        Mutation("cursors-from-the-beginning", .cursorsFromTheBeginning, 1743),
        Mutation("acknowledge-after-sync", .acknowledgeAfterSync, 55),
        Mutation("publish-after-sync", .publishAfterSync, 19),
        Mutation("publish-committed-only", .publishCommittedOnly, 19),
        Mutation("retire-failed-file", .retireFailedFile, 3),
        Mutation("retain-by-durable-cursors", .retainByDurableCursors, 49),
        Mutation("commit-before-removal", .commitBeforeRemoval, 28),
        Mutation("alternate-slots", .alternateSlots, 1737),
        Mutation("quarantine-copy", .quarantineCopy, 2),
        Mutation("next-above-cursors", .nextAboveCursors, 43),
        Mutation("seal-below-next-segment", .sealBelowNextSegment, 597),
        Mutation("batches-below-next-segment", .batchesBelowNextSegment, 178),
        Mutation("seal-torn-tail", .sealTornTail, 13),
        Mutation("rewrite-tail", .rewriteTail, 55),
        Mutation("checksum-uuid", .checksumUUID, 153),
        Mutation("checksum-segment", .checksumSegment, 39),
        Mutation("checksum-offset", .checksumOffset, 12),
        Mutation("header-checksum", .headerChecksum, 12),
        Mutation("payload-checksum", .payloadChecksum, 2),
        Mutation("cursor-checksum", .cursorChecksum, 281),
        Mutation("manifest-checksum", .manifestChecksum, 33),
        Mutation("live-checksum", .liveChecksum, 2),
        Mutation("live-below-end", .liveBelowEnd, 70),
        Mutation("live-number", .liveNumber, 2454),
        Mutation("lane-table", .laneTable, 250),
        Mutation("lane-chain", .laneChain, 1662),
        Mutation("lane-retention", .laneRetention, 130_000_002_094),
        Mutation("lane-seal", .laneSeal, 130_000_133_194),
        Mutation("lanes-of-earlier-segments", .lanesOfEarlierSegments, 62),
    ]
}
