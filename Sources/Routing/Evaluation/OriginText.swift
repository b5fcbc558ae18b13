import Events

/// The values of `context.penstock` for one event. Their slices count from the start of the text that holds them.
struct OriginValues: BitwiseCopyable, Sendable {
    var all = FieldValue.missing
    var peer = FieldValue.missing
    var source = FieldValue.missing
    var host = FieldValue.missing
    var uid = FieldValue.missing
    var gid = FieldValue.missing
    var pid = FieldValue.missing
    var user = FieldValue.missing
    var replay = FieldValue.missing

    /// The value of a field in a memory where the text starts at `start`.
    func value(_ field: OriginField, from start: Int) -> FieldValue {
        var value =
            switch field {
            case .all: all
            case .peer: peer
            case .source: source
            case .host: host
            case .uid: uid
            case .gid: gid
            case .pid: pid
            case .user: user
            case .replay: replay
            case .unknown: FieldValue.missing
            }
        if value.slice.isPresent { value.slice.offset += UInt32(clamping: start) }
        return value
    }
}

/// Returns the name of a user, given the uid; nil: the user has no name. Any thread. It must be cheap: it is called for
/// events.
package typealias UserNames = @Sendable (UInt32) -> String?

/// Writes `context.penstock` for the senders of events: `{"source":"apps","host":"web1","peer":{"uid":33,"gid":33,
/// "pid":7,"user":"www-data"}}`. Keeps the text of the last sender, because most neighbours in a journal have the
/// same. One thread.
struct OriginText {
    /// Events for which the text of one sender is kept, so that a changed name of a user is noticed.
    private static let keptFor = 1024

    private let isReplay: Bool
    private let host: String
    private let userName: UserNames
    private var origin: Origin?
    private var eventsLeft = 0
    private var text: [UInt8] = []
    private var values = OriginValues()

    /// - Parameters:
    ///   - isReplay: the events are sent again: `replay` is true.
    ///   - host: the name of this machine; empty: not known.
    init(isReplay: Bool, host: String, userName: @escaping UserNames) {
        self.isReplay = isReplay
        self.host = host
        self.userName = userName
    }

    /// Appends the text for a sender.
    /// - Parameter origin: nil: the sender is not known.
    mutating func append(_ origin: Origin?, to memory: inout [UInt8]) -> OriginValues {
        if eventsLeft == 0 || origin != self.origin {
            self.origin = origin
            eventsLeft = Self.keptFor
            write(origin)
        }
        eventsLeft -= 1
        memory.append(contentsOf: text.span)
        return values
    }

    private mutating func write(_ origin: Origin?) {
        text.removeAll(keepingCapacity: true)
        values = OriginValues()
        if let origin, !origin.source.isEmpty {
            values.source = member("source") { JSONText.appendString(origin.source, to: &$0) }
        }
        // The host that received the event first.
        let host = origin.map { $0.host ?? self.host } ?? ""
        if !host.isEmpty { values.host = member("host") { JSONText.appendString(host, to: &$0) } }
        if let origin, origin.hasPeer {
            begin("peer")
            let start = text.count
            values.uid = member("uid") { $0 += "\(origin.uid)".utf8 }
            values.gid = member("gid") { $0 += "\(origin.gid)".utf8 }
            values.pid = member("pid") { $0 += "\(origin.pid)".utf8 }
            if let name = userName(origin.uid) {
                values.user = member("user") { JSONText.appendString(name, to: &$0) }
            }
            values.peer = end(start)
        }
        if isReplay { values.replay = member("replay") { $0 += "true".utf8 } }
        if !text.isEmpty { values.all = end(0) }
    }

    /// Writes a name. The first byte of an object is written as the comma of its first member, and replaced at its end.
    private mutating func begin(_ name: String) {
        text.append(UInt8(ascii: ","))
        JSONText.appendString(name, to: &text)
        text.append(UInt8(ascii: ":"))
    }

    private mutating func member(_ name: String, _ write: (inout [UInt8]) -> Void) -> FieldValue {
        begin(name)
        let start = text.count
        write(&text)
        return value(from: start)
    }

    private mutating func end(_ start: Int) -> FieldValue {
        text[start] = UInt8(ascii: "{")
        text.append(UInt8(ascii: "}"))
        return value(from: start)
    }

    private func value(from start: Int) -> FieldValue {
        var value = FieldValue(of: text.span.extracting(start..<text.count))
        value.slice.offset += UInt32(clamping: start)
        return value
    }
}
