/// The state of an event while it is encoded.
struct EventRoot {
    /// The form of the event's outermost value.
    enum Form {
        case unknown
        /// An enum's case or a string: the outermost key or value is the event's name and is not written itself.
        case nameOnly
        /// A struct: its members are the properties.
        case members
    }

    let givenName: String?
    let policy: EventNamePolicy
    /// The spelling of the names of properties.
    let propertyPolicy: EventNamePolicy
    let type: any AnalyticsEvent.Type
    var form = Form.unknown
    /// The offset in the text at which the properties begin.
    var properties = 0

    init(
        givenName: String?, policy: EventNamePolicy, propertyPolicy: EventNamePolicy, type: any AnalyticsEvent.Type
    ) {
        self.propertyPolicy = propertyPolicy
        self.givenName = givenName
        self.policy = policy
        self.type = type
    }
}

/// The reason why a value cannot be written.
enum JSONWriterError: Error, Equatable {
    /// A container was written to after a container outside it had been used. This is not an error of the application:
    /// the value is written again by another method.
    case containerWasLeft
    case tooLarge
    case tooDeep
    case nameless
    case noProperties
    case twoNames
    case unlabelled
    case twoValues
    case keyTwice(String)
    /// A value inside threw this error, and the enclosing value ignored it.
    case valueFailed(String)
}

extension JSONWriterError: CustomStringConvertible {
    var description: String {
        switch self {
        case .containerWasLeft: "its encode(to:) writes to a container that is no longer open"
        case .tooLarge: "it is too large"
        case .tooDeep: "objects and lists are nested deeper than \(JSONBuilder.maximumDepth)"
        case .nameless: "it has no name; implement eventName"
        case .valueFailed(let error): "a value in it cannot be encoded: \(error)"
        case .noProperties: "its properties are not an object"
        case .unlabelled:
            "it has a value without a label; give each value of the case a label, or pass one struct: "
                + "case orderCompleted(orderID: String)"
        case .twoValues: "it encodes two values where only one is allowed"
        case .twoNames: "it encodes two names; an event that begins with a nested container must have only that one"
        case .keyTwice(let key): "it has two properties named \"\(key)\""
        }
    }
}
