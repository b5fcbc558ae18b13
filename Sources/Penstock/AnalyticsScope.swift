#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Synchronization

/// Whose events are recorded, and what all of them say.
struct AnalyticsScope: Sendable {
    var userID: String?
    var anonymousID: String
    var superProperties: [String: PropertyValue] = [:]
    /// The application's own context; it has precedence over `automatic`.
    var context: [String: PropertyValue] = [:]
    var automatic: [String: PropertyValue]
    var session: RunningSession?

    /// What the events of this scope have in common, as it is written.
    func makeFragments(process: Int32) -> Fragments {
        var identity = JSONText()
        if let userID {
            identity.append(",\"userId\":")
            identity.append(string: userID)
        }
        identity.append(",\"anonymousId\":")
        identity.append(string: anonymousID)

        var members = automatic.merging(context, uniquingKeysWith: { $1 })
        if let session { members["session"] = session.value }
        // A child that was forked has another number.
        if case .object(var fields)? = members["process"], context["process"] == nil {
            fields["pid"] = .integer(Int64(process))
            members["process"] = .object(fields)
        }
        var text = JSONText()
        text.append(",\"context\":")
        _ = PropertyValue.object(members).write(to: &text, depth: JSONWriter.maximumDepth)
        text.bytes.removeLast()

        let properties = superProperties.sorted { $0.key < $1.key }.map { name, value in
            var key = JSONText()
            key.append(string: name)
            var member = key
            member.append(byte: ":")
            _ = value.write(to: &member, depth: JSONWriter.maximumDepth)
            return Fragments.Member(key: key.bytes, member: member.bytes)
        }
        return Fragments(identity: identity.bytes, context: text.bytes, hasContext: !members.isEmpty, properties: properties, process: process)
    }
}

/// Parts of a line that are the same for many events.
final class Fragments: Sendable {
    struct Member: Sendable {
        let key: [UInt8]
        /// Key, colon, value.
        let member: [UInt8]
    }

    /// The ids, from their comma on.
    let identity: [UInt8]
    /// The context, from its comma on, without its closing brace.
    let context: [UInt8]
    let hasContext: Bool
    let properties: [Member]
    /// Whose number the context tells.
    let process: Int32

    init(identity: [UInt8], context: [UInt8], hasContext: Bool, properties: [Member], process: Int32) {
        self.identity = identity
        self.context = context
        self.hasContext = hasContext
        self.properties = properties
        self.process = process
    }

    /// Appends the super properties to the object that begins at `start` and ends the text; those that the
    /// event has itself stay as they are.
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
    private struct State {
        var scope: AnalyticsScope
        var fragments: Fragments?
    }

    private let state: Mutex<State>

    init(_ scope: AnalyticsScope) { state = Mutex(State(scope: scope)) }

    var current: AnalyticsScope { state.withLock { $0.scope } }

    func change<Result: Sendable>(_ change: @Sendable (inout AnalyticsScope) -> Result) -> Result {
        state.withLock { state in
            defer { state.fragments = nil }
            return change(&state.scope)
        }
    }

    func fragments(process: Int32) -> Fragments {
        state.withLock { state in
            if let fragments = state.fragments, fragments.process == process { return fragments }
            let fragments = state.scope.makeFragments(process: process)
            state.fragments = fragments
            return fragments
        }
    }
}
