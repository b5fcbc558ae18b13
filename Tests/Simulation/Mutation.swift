import Journal

/// A protection that is taken out, and what is known of it.
struct Mutation {
    enum Fate {
        /// This seed notices.
        case caught(UInt64)
        /// No seed can: why.
        case harmless(String)
    }

    var name: String
    var without: Protections
    var fate: Fate?

    init(_ name: String, _ without: Protections, _ fate: Fate? = nil) {
        self.name = name
        self.without = without
        self.fate = fate
    }

    static func named(_ name: String) -> Mutation? { all.first { $0.name == name } }

    static let all: [Mutation] = [
        Mutation("commit-sync", .commitSync),
        Mutation("seal-sync", .sealSync),
        Mutation("spare-sync", .spareSync),
        Mutation("recovery-sync", .recoverySync),
        Mutation("recovery-seal-sync", .recoverySealSync),
        Mutation("manifest-sync", .manifestSync),
        Mutation("cursor-sync", .cursorSync),
        Mutation("cursor-file-sync", .cursorFileSync),
        Mutation("dead-letter-sync", .deadLetterSync),
        Mutation("quarantine-sync", .quarantineSync),
        Mutation("parent-directory-sync", .parentDirectorySync),
        Mutation("manifest-directory-sync", .manifestDirectorySync),
        Mutation("cursor-directory-sync", .cursorDirectorySync),
        Mutation("spare-directory-sync", .spareDirectorySync),
        Mutation("segment-directory-sync", .segmentDirectorySync),
        Mutation("recovery-directory-sync", .recoveryDirectorySync),
        Mutation("removal-directory-sync", .removalDirectorySync),
        Mutation("dead-letter-directory-sync", .deadLetterDirectorySync),
        Mutation("dead-letters-directory-sync", .deadLettersDirectorySync),
        Mutation("dead-letters-entry-sync", .deadLettersEntrySync),
        Mutation("quarantine-directory-sync", .quarantineDirectorySync),
        Mutation("quarantine-entry-sync", .quarantineEntrySync),
        Mutation("acknowledge-after-sync", .acknowledgeAfterSync),
        Mutation("publish-after-sync", .publishAfterSync),
        Mutation("publish-committed-only", .publishCommittedOnly),
        Mutation("retire-failed-file", .retireFailedFile),
        Mutation("retain-by-durable-cursors", .retainByDurableCursors),
        Mutation("commit-before-removal", .commitBeforeRemoval),
        Mutation("alternate-slots", .alternateSlots),
        Mutation("quarantine-copy", .quarantineCopy),
        Mutation("next-above-cursors", .nextAboveCursors),
        Mutation("seal-below-next-segment", .sealBelowNextSegment),
        Mutation("batches-below-next-segment", .batchesBelowNextSegment),
        Mutation("seal-torn-tail", .sealTornTail),
        Mutation("rewrite-tail", .rewriteTail),
        Mutation("checksum-uuid", .checksumUUID),
        Mutation("checksum-segment", .checksumSegment),
        Mutation("checksum-offset", .checksumOffset),
        Mutation("header-checksum", .headerChecksum),
        Mutation("payload-checksum", .payloadChecksum),
        Mutation("cursor-checksum", .cursorChecksum),
        Mutation("manifest-checksum", .manifestChecksum),
    ]
}
