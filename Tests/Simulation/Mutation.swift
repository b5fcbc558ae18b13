import Journal

/// A protection that is taken out, and the seed that is known to notice.
struct Mutation {
    var name: String
    var without: Protections
    /// The seed that notices.
    var seed: UInt64

    init(_ name: String, _ without: Protections, _ seed: UInt64) {
        self.name = name
        self.without = without
        self.seed = seed
    }

    static func named(_ name: String) -> Mutation? { all.first { $0.name == name } }

    static let all: [Mutation] = [
        Mutation("commit-sync", .commitSync, 2),
        Mutation("seal-sync", .sealSync, 1),
        Mutation("spare-sync", .spareSync, 1),
        Mutation("recovery-sync", .recoverySync, 28),
        Mutation("recovery-seal-sync", .recoverySealSync, 39),
        Mutation("manifest-sync", .manifestSync, 1),
        Mutation("cursor-sync", .cursorSync, 4),
        Mutation("cursor-file-sync", .cursorFileSync, 40),
        Mutation("dead-letter-sync", .deadLetterSync, 1),
        Mutation("quarantine-sync", .quarantineSync, 3),
        Mutation("parent-directory-sync", .parentDirectorySync, 6),
        Mutation("manifest-directory-sync", .manifestDirectorySync, 557),
        Mutation("cursor-directory-sync", .cursorDirectorySync, 318),
        Mutation("spare-directory-sync", .spareDirectorySync, 11),
        Mutation("segment-directory-sync", .segmentDirectorySync, 15),
        Mutation("recovery-directory-sync", .recoveryDirectorySync, 5),
        Mutation("dead-letter-directory-sync", .deadLetterDirectorySync, 2),
        Mutation("dead-letters-directory-sync", .deadLettersDirectorySync, 3),
        Mutation("dead-letters-entry-sync", .deadLettersEntrySync, 21),
        Mutation("quarantine-directory-sync", .quarantineDirectorySync, 2),
        Mutation("quarantine-entry-sync", .quarantineEntrySync, 44),
        Mutation("acknowledge-after-sync", .acknowledgeAfterSync, 56),
        Mutation("publish-after-sync", .publishAfterSync, 19),
        Mutation("publish-committed-only", .publishCommittedOnly, 99),
        Mutation("retire-failed-file", .retireFailedFile, 6),
        Mutation("retain-by-durable-cursors", .retainByDurableCursors, 465),
        Mutation("commit-before-removal", .commitBeforeRemoval, 345),
        Mutation("alternate-slots", .alternateSlots, 67),
        Mutation("quarantine-copy", .quarantineCopy, 2),
        Mutation("next-above-cursors", .nextAboveCursors, 27),
        Mutation("seal-below-next-segment", .sealBelowNextSegment, 3032),
        Mutation("batches-below-next-segment", .batchesBelowNextSegment, 6),
        Mutation("seal-torn-tail", .sealTornTail, 178),
        Mutation("rewrite-tail", .rewriteTail, 140),
        Mutation("checksum-uuid", .checksumUUID, 793),
        Mutation("checksum-segment", .checksumSegment, 812),
        Mutation("checksum-offset", .checksumOffset, 252),
        Mutation("header-checksum", .headerChecksum, 123),
        Mutation("payload-checksum", .payloadChecksum, 3),
        Mutation("cursor-checksum", .cursorChecksum, 603),
        Mutation("manifest-checksum", .manifestChecksum, 18),
    ]
}
