import Events
import NameSuggestion

/// A directive of the mapping language, declared once with its name, arguments and meaning. The parser, its errors, the
/// JSON Schema and `penstock`'s documentation are derived from the declaration.
package struct Directive: Sendable {
    package struct Argument: Sendable {
        package enum Shape: Sendable, Equatable {
            /// Any mapping; its paths start at the event.
            case value
            /// Any mapping; its paths start at a value that the directive supplies.
            case inner
            /// A list of mappings.
            case values
            /// Constant text.
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
        /// The default as a user would write it; nil: no default.
        package var defaultText: String?
        package var summary: String

        init(
            _ name: String, _ shape: Shape, required: Bool = false, default defaultText: String? = nil,
            _ summary: String
        ) {
            self.name = name
            self.shape = shape
            isRequired = required
            self.defaultText = defaultText
            self.summary = summary
        }
    }

    package enum Form: Sendable {
        /// `{ $name: VALUE }`; the value is a mapping.
        case value
        /// `{ $name: VALUE }`; the value is taken literally.
        case literal
        /// `{ $name: TEXT }`; the directive interprets the text.
        case text
        /// `{ $name: { argument: …, … } }`. If `shorthand` names an argument, any value other than such an object
        /// is that argument.
        case arguments([Argument], shorthand: String? = nil)
        /// `{ $name: [ first, second ] }`. Optional arguments at the end may be left out.
        case list([Argument])
    }

    package let name: String
    package let form: Form
    package let summary: String
    /// Messages and hints for arguments that users of other systems may expect and this directive does not have.
    let explained: [String: (message: String, hint: String)]
    private let make: @Sendable (MappingValue, [String], MappingCompiler) -> (any MappingNode)?

    /// Declares a directive that takes arguments.
    init(
        _ name: String, _ form: Form, _ summary: String, explained: [String: (message: String, hint: String)] = [:],
        make: @escaping @Sendable (DirectiveArguments) throws(DirectiveFault) -> any MappingNode
    ) {
        self.name = name
        self.form = form
        self.summary = summary
        self.explained = explained
        self.make = { value, keys, compiler in
            guard let arguments = DirectiveArguments(value, of: name, form, explained, at: keys, compiler) else {
                return nil
            }
            do throws(DirectiveFault) {
                return try make(arguments)
            } catch {
                let place = error.argument.map { keys + [$0] } ?? keys
                compiler.fail(error.message, at: place, isKey: error.argument == nil, hint: error.hint)
                return nil
            }
        }
    }

    /// Declares a directive that determines how its value is read: as a path, a template or a literal.
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
        .excludeWhenNull, .date, .hash, .number, .string, .match, .prefix, .mapValues, .entries, .first,
        .default, .uuid, .base64, .trim, .urlEncode,
    ]

    static func named(_ name: String) -> Directive? { all.first { $0.name == name } }
    /// Whether a name is a directive in the spelling of Segment's mapping-kit: `@path`.
    package static func isForeign(_ name: String) -> Bool {
        name.hasPrefix("@") && (named("$" + name.dropFirst()) != nil || name == "@liquid")
    }
    static func nearest(_ name: String) -> String? { NearestName.find(name, among: all.map(\.name)) }

    /// - Parameter keys: the place of the value; the last key is the directive's own name.
    /// - Returns: nil if the value has errors, which the compiler has then recorded.
    func read(_ value: MappingValue, at keys: [String], _ compiler: MappingCompiler) -> (any MappingNode)? {
        make(value, keys, compiler)
    }
}

/// An error in the combination of a directive's arguments.
struct DirectiveFault: Error {
    /// The argument at fault; nil: the directive as a whole.
    var argument: String?
    var message: String
    var hint: String?
}
