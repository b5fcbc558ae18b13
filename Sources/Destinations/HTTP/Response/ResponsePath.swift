import Events

/// A path in a response's JSON: `records`, `error.details.0`, `failures.*`.
package struct ResponsePath: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        case name(String)
        /// All children.
        case every
    }

    package var steps: [Step]

    /// Parses names separated by dots. `*` stands for all children; an empty text means the whole response.
    package init(_ text: String) {
        steps =
            text.isEmpty
            ? []
            : text.split(separator: ".", omittingEmptySubsequences: false).map {
                $0 == "*" ? .every : .name(String($0))
            }
    }

    /// All values that the path matches.
    func values(in whole: JSONDocument) -> [JSONDocument] {
        steps.reduce([whole]) { values, step in
            switch step {
            case .name(let name): values.compactMap { $0.member(Array(name.utf8)) }
            case .every: values.flatMap(\.children)
            }
        }
    }

    func first(in whole: JSONDocument) -> JSONDocument? { values(in: whole).first }
}
