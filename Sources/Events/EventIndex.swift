/// A part of an event's bytes, relative to the event's first byte.
@usableFromInline package struct Slice: BitwiseCopyable, Sendable, Equatable {
    @usableFromInline package var offset: UInt32
    @usableFromInline package var length: UInt32

    @inlinable @inline(__always)
    package init(offset: UInt32, length: UInt32) {
        self.offset = offset
        self.length = length
    }

    /// The slice of a field that is missing or null.
    @inlinable @inline(__always)
    package static var absent: Slice { Slice(offset: .max, length: 0) }
    @inlinable @inline(__always)
    package var isPresent: Bool { offset != .max }
    @inlinable @inline(__always)
    package var range: Range<Int> { Int(offset)..<Int(offset) + Int(length) }
}

/// The facts about an event that the scanner has already found, so that later stages need not parse it again: the kind,
/// and the slices of the four fields that filters and destinations use most.
///
/// A slice covers the *contents* of the string, without its quotes, as the client wrote them. If the string contains a
/// backslash escape, its flag is set, and the text must be decoded before it is compared or shown.
@usableFromInline package struct EventIndex: BitwiseCopyable, Sendable, Equatable {
    @usableFromInline package struct Flags: OptionSet, BitwiseCopyable, Sendable {
        @usableFromInline package let rawValue: UInt8
        @inlinable @inline(__always)
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Replaces `OptionSet`'s method, which other rooms could call only through a witness table.
        @inlinable @inline(__always)
        package func contains(_ flags: Flags) -> Bool { rawValue & flags.rawValue == flags.rawValue }

        @inlinable package static var eventEscaped: Flags { Flags(rawValue: 1 << 0) }
        @inlinable package static var messageIDEscaped: Flags { Flags(rawValue: 1 << 1) }
        @inlinable package static var userIDEscaped: Flags { Flags(rawValue: 1 << 2) }
        @inlinable package static var anonymousIDEscaped: Flags { Flags(rawValue: 1 << 3) }
        /// The event has an `integrations` field, which must be checked.
        @inlinable package static var hasIntegrations: Flags { Flags(rawValue: 1 << 4) }
        /// At least one of the four fields is present but not in the index: its value is not a string (the result of a
        /// transform), or it is the `event` field of an event that is not a track.
        @inlinable package static var hasOtherValues: Flags { Flags(rawValue: 1 << 5) }
    }

    @usableFromInline package var kind: EventKind
    @usableFromInline package var flags: Flags
    /// The `event` field of a track; absent for other kinds.
    @usableFromInline package var event: Slice
    @usableFromInline package var messageID: Slice
    /// Absent if the id is an empty string, which counts as no user.
    @usableFromInline package var userID: Slice
    @usableFromInline package var anonymousID: Slice

    @inlinable
    package init(
        kind: EventKind, flags: Flags = [], event: Slice = .absent, messageID: Slice = .absent,
        userID: Slice = .absent, anonymousID: Slice = .absent
    ) {
        self.kind = kind
        self.flags = flags
        self.event = event
        self.messageID = messageID
        self.userID = userID
        self.anonymousID = anonymousID
    }
}

/// One valid event in a buffer of several: the location of its JSON object, and its index.
package struct ScannedEvent: BitwiseCopyable, Sendable {
    /// From the buffer's first byte to the event's opening brace.
    package var offset: UInt32
    /// Up to and including the closing brace.
    package var length: UInt32
    package var index: EventIndex
    /// The number of line feeds before it in the buffer; 0 if events are not lines.
    package var line: UInt32

    package init(offset: UInt32, length: UInt32, index: EventIndex, line: UInt32 = 0) {
        self.offset = offset
        self.length = length
        self.index = index
        self.line = line
    }
}

/// The sender of an event: the source's name in the configuration, and the peer's credentials from the kernel
/// (SO_PEERCRED, unix(7)).
package struct Origin: Sendable, Hashable {
    /// The user and the group of a sender that the kernel does not name: a client of a TCP socket. No user and no group
    /// has this id (chown(2)).
    package static let unknownID = UInt32.max

    package var source: String
    package var uid: UInt32
    package var gid: UInt32
    package var pid: Int32
    /// The host that received the event first; empty: another one, whose name is not known; nil: this one.
    package var host: String?

    package init(source: String, uid: UInt32, gid: UInt32, pid: Int32, host: String? = nil) {
        self.source = source
        self.uid = uid
        self.gid = gid
        self.pid = pid
        self.host = host
    }

    /// A sender that the kernel does not name.
    package init(unknownPeerOf source: String) {
        self.init(source: source, uid: Self.unknownID, gid: Self.unknownID, pid: 0)
    }

    /// Whether the kernel named the sender's user, group and process.
    package var hasPeer: Bool { uid != Self.unknownID }
}
