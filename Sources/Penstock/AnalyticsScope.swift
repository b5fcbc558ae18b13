import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The identity, context and properties that the events of one `Analytics` share.
struct AnalyticsScope: Sendable {
    var userID: String?
    var anonymousID: String?
    var superProperties: [String: PropertyValue] = [:]
    /// The context that the application has set. It takes precedence over `automatic`.
    var context: [String: PropertyValue] = [:]
    var automatic: [String: PropertyValue]
    var session: RunningSession?

    /// Encodes what the events of this scope share.
    func makeFragments(process: Int32) -> Fragments {
        var identity = JSONText()
        if let userID {
            identity.append(",\"userId\":")
            identity.append(string: userID)
        }
        if let anonymousID {
            identity.append(",\"anonymousId\":")
            identity.append(string: anonymousID)
        }

        var members = automatic.merging(context, uniquingKeysWith: { $1 })
        if let session { members["session"] = session.value }
        // A forked child has its own process id.
        if case .dictionary(var fields)? = members["process"], context["process"] == nil {
            fields["pid"] = .int(Int(process))
            members["process"] = .dictionary(fields)
        }
        var text = JSONText()
        text.append(",\"context\":")
        _ = PropertyValue.dictionary(members).write(to: &text, depth: JSONBuilder.maximumDepth)
        text.bytes.removeLast()

        let properties = superProperties.sorted { $0.key < $1.key }.map { name, value in
            var key = JSONText()
            key.append(string: name)
            var member = key
            member.append(byte: ":")
            _ = value.write(to: &member, depth: JSONBuilder.maximumDepth)
            return Fragments.Member(key: key.bytes, member: member.bytes)
        }
        return Fragments(
            identity: identity.bytes, context: text.bytes, hasContext: !members.isEmpty, properties: properties,
            process: process)
    }
}

/// Encoded parts of a line that many events share.
final class Fragments: Sendable {
    struct Member: Sendable {
        let key: [UInt8]
        /// The key, a colon and the value.
        let member: [UInt8]
    }

    /// The ids, starting with a comma; empty if there are none.
    let identity: [UInt8]
    /// The context, starting with a comma, without its closing brace.
    let context: [UInt8]
    let hasContext: Bool
    let properties: [Member]
    /// The process id in the context.
    let process: Int32

    init(identity: [UInt8], context: [UInt8], hasContext: Bool, properties: [Member], process: Int32) {
        self.identity = identity
        self.context = context
        self.hasContext = hasContext
        self.properties = properties
        self.process = process
    }

    /// Appends the super properties to the object that begins at `start` and ends the text. Properties that the event
    /// already has stay unchanged.
    func appendProperties(to text: inout JSONText, objectAt start: Int) {
        for property in properties where JSONReader.member(property.key, of: start, in: text.bytes) == nil {
            text.bytes.removeLast()
            if text.bytes.count > start + 1 { text.append(byte: ",") }
            text.bytes.append(contentsOf: property.member)
            text.append(byte: "}")
        }
    }
}

/// A scope that many threads read and few change.
final class SharedScope: Sendable {
    private let scope: Mutex<AnalyticsScope>
    private let written: VersionedValue<Fragments>

    init(_ scope: AnalyticsScope) {
        written = VersionedValue(scope.makeFragments(process: CurrentProcess.id))
        self.scope = Mutex(scope)
    }

    var current: AnalyticsScope { scope.withLock { $0 } }

    func change<Result: Sendable>(_ change: (inout AnalyticsScope) -> Result) -> Result {
        scope.withLock { scope in
            let result = change(&scope)
            written.replace(by: scope.makeFragments(process: CurrentProcess.id))
            return result
        }
    }

    /// Returns what the events of this scope share. `kept` is what the thread used last, of any scope.
    func fragments(process: Int32, _ kept: inout VersionedValue<Fragments>.Kept?) -> Fragments {
        let fragments = written.read(&kept)
        if fragments.process == process { return fragments }
        change { _ in }
        return written.read(&kept)
    }
}
