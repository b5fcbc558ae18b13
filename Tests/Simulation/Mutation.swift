import Journal

/// A protection that is taken out, and what is known of it.
struct Mutation {
    enum Fate {
        /// This seed notices.
        case caught(UInt64)
        /// No seed notices, because another protection does the same; this seed notices that both are gone,
        /// and neither of them alone.
        case redundant(with: String, UInt64, why: String)
    }

    var name: String
    var without: Protections
    var fate: Fate

    init(_ name: String, _ without: Protections, _ fate: Fate) {
        self.name = name
        self.without = without
        self.fate = fate
    }

    static func named(_ name: String) -> Mutation? { all.first { $0.name == name } }

    static let all: [Mutation] = [
        Mutation("commit-sync", .commitSync, .caught(2)),
        Mutation("seal-sync", .sealSync, .caught(1)),
        Mutation("spare-sync", .spareSync, .caught(1)),
        Mutation("recovery-sync", .recoverySync, .caught(19)),
        Mutation("recovery-seal-sync", .recoverySealSync, .caught(39)),
        Mutation("manifest-sync", .manifestSync, .caught(1)),
        Mutation("cursor-sync", .cursorSync, .caught(4)),
        Mutation("cursor-file-sync", .cursorFileSync, .caught(40)),
        Mutation("dead-letter-sync", .deadLetterSync, .caught(1)),
        Mutation("quarantine-sync", .quarantineSync, .caught(3)),
        Mutation("parent-directory-sync", .parentDirectorySync, .caught(1)),
        Mutation("cursor-directory-sync", .cursorDirectorySync, .caught(318)),
        Mutation("spare-directory-sync", .spareDirectorySync, .caught(11)),
        Mutation("segment-directory-sync", .segmentDirectorySync, .caught(15)),
        Mutation("recovery-directory-sync", .recoveryDirectorySync, .caught(5)),
        Mutation("dead-letter-directory-sync", .deadLetterDirectorySync, .caught(2)),
        Mutation("dead-letters-directory-sync", .deadLettersDirectorySync, .caught(1)),
        Mutation("dead-letters-entry-sync", .deadLettersEntrySync, .caught(21)),
        Mutation("quarantine-directory-sync", .quarantineDirectorySync, .caught(2)),
        Mutation("quarantine-entry-sync", .quarantineEntrySync, .caught(44)),
        Mutation("acknowledge-after-sync", .acknowledgeAfterSync, .caught(56)),
        Mutation("publish-after-sync", .publishAfterSync, .caught(7)),
        Mutation("publish-committed-only", .publishCommittedOnly, .caught(99)),
        Mutation("retire-failed-file", .retireFailedFile, .caught(3)),
        Mutation("retain-by-durable-cursors", .retainByDurableCursors, .caught(465)),
        Mutation("commit-before-removal", .commitBeforeRemoval, .caught(345)),
        Mutation("alternate-slots", .alternateSlots, .caught(7)),
        Mutation("quarantine-copy", .quarantineCopy, .caught(2)),
        Mutation("next-above-cursors", .nextAboveCursors, .caught(27)),
        Mutation("seal-below-next-segment", .sealBelowNextSegment, .caught(3032)),
        Mutation("batches-below-next-segment", .batchesBelowNextSegment, .caught(6)),
        Mutation("seal-torn-tail", .sealTornTail, .caught(178)),
        Mutation("rewrite-tail", .rewriteTail, .caught(167)),
        Mutation("checksum-uuid", .checksumUUID, .caught(793)),
        Mutation("checksum-segment", .checksumSegment, .caught(812)),
        Mutation("checksum-offset", .checksumOffset, .caught(252)),
        Mutation("header-checksum", .headerChecksum, .caught(123)),
        Mutation("payload-checksum", .payloadChecksum, .caught(3)),
        Mutation("cursor-checksum", .cursorChecksum, .caught(603)),
        Mutation("manifest-checksum", .manifestChecksum, .caught(18)),
        // Last: to see that nothing notices takes all seeds.
        Mutation(
            "manifest-directory-sync", .manifestDirectorySync,
            .redundant(
                with: "dead-letters-entry-sync", 13,
                why: "a destination's dead letters are opened between its entry in the manifest and its first delivery, and"
                    + " sync the same directory; a new journal's is synced with its first segment")),
    ]
}
