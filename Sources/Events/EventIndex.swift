// Events: what an event is. The door that recognises one, the index that the door leaves behind,
// the way from an event's bytes to its fields, and the texts inside it (strings, numbers, times).
//
// - The client's bytes are the event: nothing here changes or reorders them. Everything said
//   about an event is said as slices of them.
// - What the door accepted is valid JSON in valid UTF-8, within the limits of size and depth, and one
//   of the six kinds with what that kind needs. Whoever stands behind it relies on that.
// - Of keys that occur twice, the last counts, at the door and ever after.
// - Scanning an event and reading fields from it allocate nothing.
// - It does no input or output, knows no clock, and starts no thread.
//
// Small types that every room uses are `@usableFromInline`, and so is what they store: without that the
// compiler inlines nothing of a `package` type in another room, whatever stands before its methods.

/// A piece of an event's bytes, relative to the event's first byte.
@usableFromInline package struct Slice: BitwiseCopyable, Sendable, Equatable {
    @usableFromInline package var offset: UInt32
    @usableFromInline package var length: UInt32

    @inlinable @inline(__always)
    package init(offset: UInt32, length: UInt32) {
        self.offset = offset
        self.length = length
    }

    /// Of a field that the event does not have (or that is null).
    @inlinable @inline(__always)
    package static var absent: Slice { Slice(offset: .max, length: 0) }
    @inlinable @inline(__always)
    package var isPresent: Bool { offset != .max }
    @inlinable @inline(__always)
    package var range: Range<Int> { Int(offset)..<Int(offset) + Int(length) }
}

/// What the door already knows about an event, so that nobody behind it parses for it: the
/// kind, and where the four fields lie that filters and destinations ask for most.
///
/// The slices are the string's *contents*, without its quotes, as the client wrote them. Where
/// such a string holds a backslash escape, its flag is set and the text has to be decoded
/// before it is compared or shown.
@usableFromInline package struct EventIndex: BitwiseCopyable, Sendable, Equatable {
    @usableFromInline package struct Flags: OptionSet, BitwiseCopyable, Sendable {
        @usableFromInline package let rawValue: UInt8
        @inlinable @inline(__always)
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// In place of `OptionSet`'s, which other rooms reach only through a witness table.
        @inlinable @inline(__always)
        package func contains(_ flags: Flags) -> Bool { rawValue & flags.rawValue == flags.rawValue }

        @inlinable package static var eventEscaped: Flags { Flags(rawValue: 1 << 0) }
        @inlinable package static var messageIDEscaped: Flags { Flags(rawValue: 1 << 1) }
        @inlinable package static var userIDEscaped: Flags { Flags(rawValue: 1 << 2) }
        @inlinable package static var anonymousIDEscaped: Flags { Flags(rawValue: 1 << 3) }
        /// The event has an `integrations` field, so somebody has to look into it.
        @inlinable package static var hasIntegrations: Flags { Flags(rawValue: 1 << 4) }
        /// One of the four fields is there though the index does not have it: it is no string, which a transform
        /// can bring about, or it is the `event` of something else than a track.
        @inlinable package static var hasOtherValues: Flags { Flags(rawValue: 1 << 5) }
    }

    @usableFromInline package var kind: EventKind
    @usableFromInline package var flags: Flags
    /// `event` of a track; absent for the other kinds.
    @usableFromInline package var event: Slice
    @usableFromInline package var messageID: Slice
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

/// One valid event in a buffer that holds several: where its JSON object lies, and its index.
package struct ScannedEvent: BitwiseCopyable, Sendable {
    /// From the buffer's first byte to the event's opening brace.
    package var offset: UInt32
    /// Up to and including the closing brace.
    package var length: UInt32
    package var index: EventIndex
    /// How many line feeds lie before it in the buffer; 0 where events are not lines.
    package var line: UInt32

    package init(offset: UInt32, length: UInt32, index: EventIndex, line: UInt32 = 0) {
        self.offset = offset
        self.length = length
        self.index = index
        self.line = line
    }
}

/// Who handed an event in: the source's name in the configuration, and the peer as the kernel
/// names it (SO_PEERCRED, unix(7)).
package struct Origin: Sendable, Hashable {
    package var source: String
    package var uid: UInt32
    package var gid: UInt32
    package var pid: Int32

    package init(source: String, uid: UInt32, gid: UInt32, pid: Int32) {
        self.source = source
        self.uid = uid
        self.gid = gid
        self.pid = pid
    }
}
