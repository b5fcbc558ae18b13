import Events

/// Events as they arrive from a socket: a buffer of JSON lines, and the place of each event in it.
struct EventSample: Sendable {
    static let eventSize = 570
    static let origin = Origin(source: "apps", uid: 1000, gid: 1000, pid: 4711)

    let bytes: [UInt8]
    let events: [ScannedEvent]

    init(count: Int) {
        let head =
            #"{"type":"track","event":"Product Viewed","userId":"u_0012345","messageId":"00000000-0000-4000-8000-000000000000","properties":{"text":""#
        let text = head + String(repeating: "x", count: Self.eventSize - head.utf8.count - 3) + #""}}"#
        let index = EventIndex(
            kind: .track, event: Slice(offset: 25, length: 14), messageID: Slice(offset: 74, length: 36),
            userID: Slice(offset: 51, length: 9))
        var bytes: [UInt8] = []
        var events: [ScannedEvent] = []
        for _ in 0..<count {
            events.append(ScannedEvent(offset: UInt32(bytes.count), length: UInt32(text.utf8.count), index: index))
            bytes += text.utf8
            bytes.append(10)
        }
        self.bytes = bytes
        self.events = events
    }
}
