/// What is known of an event while it is being encoded.
struct EventRoot {
    /// What its outermost value turned out to be.
    enum Form {
        case unknown
        /// A case or a string: what is outermost is the name, and not written.
        case nameOnly
        /// A struct: its members are the properties.
        case members
    }

    let givenName: String?
    let policy: EventNamePolicy
    let type: any AnalyticsEvent.Type
    var form = Form.unknown
    /// Where the properties begin in the text.
    var properties = 0

    init(givenName: String?, policy: EventNamePolicy, type: any AnalyticsEvent.Type) {
        self.givenName = givenName
        self.policy = policy
        self.type = type
    }
}

/// Why something that encodes itself cannot be written.
enum JSONWriterError: Error, Equatable {
    /// A container was written to after another one was begun outside it. Not the user's fault: it is
    /// written in another way.
    case containerWasLeft
    case tooLarge
    case tooDeep
    case nameless
    case noProperties
    case twoNames
    case twoValues
    case keyTwice(String)
}

extension JSONWriterError: CustomStringConvertible {
    var description: String {
        switch self {
        case .containerWasLeft: "its containers cannot be put in order"
        case .tooLarge: "it is too large"
        case .tooDeep: "objects and lists are nested deeper than \(JSONWriter.maximumDepth)"
        case .nameless: "it has no name: give it an eventName"
        case .noProperties: "its properties are not an object"
        case .twoValues: "it encodes two values where there is place for one"
        case .twoNames: "it encodes two names: an enum's case is one nested container"
        case .keyTwice(let key): "it has two properties \"\(key)\""
        }
    }
}
