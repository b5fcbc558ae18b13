import Events
import Spelling

/// A directive of the mapping language, declared once: what it is called, what it takes and what it
/// means. Reading, errors, the JSON Schema and `penstock`'s documentation come from here.
package struct Directive: Sendable {
    package struct Argument: Sendable {
        package enum Shape: Sendable, Equatable {
            /// Any mapping.
            case value
            /// Any mapping, for which paths begin at another value than the event.
            case inner
            /// A list of mappings.
            case values
            /// Text that is the same for every event.
            case text
            case flag
            case integer(ClosedRange<Int>)
            /// A secret: `!secret NAME`.
            case secret
            case choice([String])
        }

        package var name: String
        package var shape: Shape
        package var isRequired: Bool
        /// As one would write it; nil: none.
        package var defaultText: String?
        package var summary: String

        init(
            _ name: String, _ shape: Shape, required: Bool = false, default defaultText: String? = nil, _ summary: String
        ) {
            self.name = name
            self.shape = shape
            isRequired = required
            self.defaultText = defaultText
            self.summary = summary
        }
    }

    package enum Form: Sendable {
        /// `{ $name: VALUE }`, a mapping.
        case value
        /// `{ $name: VALUE }`, as it stands.
        case literal
        /// `{ $name: TEXT }`, which has a meaning of its own.
        case text
        /// `{ $name: { argument: …, … } }`. Where `shorthand` names an argument, anything but such an
        /// object stands for that one alone.
        case arguments([Argument], shorthand: String? = nil)
        /// `{ $name: [ first, second ] }`; what is not required may be left off at the end.
        case list([Argument])
    }

    package let name: String
    package let form: Form
    package let summary: String
    /// Arguments that a writer may expect and that the directive does not have: what to say, and the hint.
    let explained: [String: (message: String, hint: String)]
    private let make: @Sendable (MappingValue, [String], MappingCompiler) -> (any MappingNode)?

    /// One that takes arguments.
    init(
        _ name: String, _ form: Form, _ summary: String, explained: [String: (message: String, hint: String)] = [:],
        make: @escaping @Sendable (DirectiveArguments) throws(DirectiveFault) -> any MappingNode
    ) {
        self.name = name
        self.form = form
        self.summary = summary
        self.explained = explained
        self.make = { value, keys, compiler in
            guard let arguments = DirectiveArguments(value, of: name, form, explained, at: keys, compiler) else { return nil }
            do throws(DirectiveFault) {
                return try make(arguments)
            } catch {
                let place = error.argument.map { keys + [$0] } ?? keys
                compiler.fail(error.message, at: place, isKey: error.argument == nil, hint: error.hint)
                return nil
            }
        }
    }

    /// One that says what a value is to be taken for.
    init(
        _ name: String, taking form: Form, _ summary: String,
        make: @escaping @Sendable (MappingValue, [String], MappingCompiler) -> (any MappingNode)?
    ) {
        self.name = name
        self.form = form
        self.summary = summary
        explained = [:]
        self.make = make
    }

    package static let all: [Directive] = [
        .path, .template, .literal, .if, .case, .replace, .arrayPath, .merge, .flatten, .json, .transform,
        .excludeWhenNull, .date, .hash, .number, .string, .match, .prefix, .mapValues,
    ]

    static func named(_ name: String) -> Directive? { all.first { $0.name == name } }
    /// The name of a directive as Segment's mapping-kit writes it: `@path`.
    package static func isForeign(_ name: String) -> Bool { name.hasPrefix("@") && (named("$" + name.dropFirst()) != nil || name == "@liquid") }
    static func nearest(_ name: String) -> String? { NearestName.find(name, among: all.map(\.name)) }

    /// - Parameter keys: where the value stands, the directive's own name last.
    /// - Returns: nil if something is wrong with it, which the compiler has noted then.
    func read(_ value: MappingValue, at keys: [String], _ compiler: MappingCompiler) -> (any MappingNode)? {
        make(value, keys, compiler)
    }
}

/// What is wrong between the arguments of a directive.
struct DirectiveFault: Error {
    /// The one at fault; nil: the directive as a whole.
    var argument: String?
    var message: String
    var hint: String?
}
