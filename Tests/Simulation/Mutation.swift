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
        Mutation("commit-sync", .commitSync, .caught(2)),
        Mutation("seal-sync", .sealSync, .caught(1)),
        Mutation("spare-sync", .spareSync, .caught(1)),
        Mutation("recovery-sync", .recoverySync, .caught(9)),
        Mutation(
            "recovery-seal-sync", .recoverySealSync,
            .harmless("a segment whose seal did not arrive is read again, and nothing is written behind it meanwhile")),
        Mutation("manifest-sync", .manifestSync, .caught(1)),
        Mutation("cursor-sync", .cursorSync, .caught(4)),
        Mutation("cursor-file-sync", .cursorFileSync, .caught(9)),
        Mutation("dead-letter-sync", .deadLetterSync, .caught(1)),
        Mutation("quarantine-sync", .quarantineSync, .caught(3)),
        Mutation("parent-directory-sync", .parentDirectorySync, .caught(1)),
        Mutation(
            "manifest-directory-sync", .manifestDirectorySync,
            .harmless("a new journal's directory is synced again before anything is taken, and what a manifest says of a"
                + " destination, the cursor file says, too: it takes the loss of both")),
        Mutation("cursor-directory-sync", .cursorDirectorySync, .caught(997)),
        Mutation(
            "spare-directory-sync", .spareDirectorySync,
            .harmless("the segment's own name is synced when it is taken; this one is there so that that is quick")),
        Mutation("segment-directory-sync", .segmentDirectorySync, .caught(15)),
        Mutation(
            "recovery-directory-sync", .recoveryDirectorySync,
            .harmless("the dead letters are opened before anything is taken, and sync the same directory")),
        Mutation(
            "removal-directory-sync", .removalDirectorySync,
            .harmless("segments that come back are below every cursor that is on disk, and are removed again")),
        Mutation("dead-letter-directory-sync", .deadLetterDirectorySync, .caught(2)),
        Mutation("dead-letters-directory-sync", .deadLettersDirectorySync, .caught(1)),
        Mutation("dead-letters-entry-sync", .deadLettersEntrySync),
        Mutation("quarantine-directory-sync", .quarantineDirectorySync, .caught(2)),
        Mutation("quarantine-entry-sync", .quarantineEntrySync, .caught(44)),
        Mutation("acknowledge-after-sync", .acknowledgeAfterSync, .caught(56)),
        Mutation("publish-after-sync", .publishAfterSync, .caught(7)),
        Mutation("publish-committed-only", .publishCommittedOnly),
        Mutation("retire-failed-file", .retireFailedFile, .caught(3)),
        Mutation("retain-by-durable-cursors", .retainByDurableCursors, .caught(997)),
        Mutation("commit-before-removal", .commitBeforeRemoval, .caught(301)),
        Mutation("alternate-slots", .alternateSlots, .caught(265)),
        Mutation("quarantine-copy", .quarantineCopy, .caught(2)),
        Mutation("next-above-cursors", .nextAboveCursors, .caught(5)),
        Mutation("seal-below-next-segment", .sealBelowNextSegment),
        Mutation("batches-below-next-segment", .batchesBelowNextSegment, .caught(6)),
        Mutation("seal-torn-tail", .sealTornTail, .caught(178)),
        Mutation("rewrite-tail", .rewriteTail, .caught(167)),
        Mutation("checksum-uuid", .checksumUUID),
        Mutation("checksum-segment", .checksumSegment, .caught(812)),
        Mutation("checksum-offset", .checksumOffset, .caught(252)),
        Mutation("header-checksum", .headerChecksum, .caught(119)),
        Mutation("payload-checksum", .payloadChecksum, .caught(3)),
        Mutation("cursor-checksum", .cursorChecksum, .caught(265)),
        Mutation("manifest-checksum", .manifestChecksum),
    ]
}
