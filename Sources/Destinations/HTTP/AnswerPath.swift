/// Where something stands in an answer's JSON: `records`, `error.details.0`, `failures.*`.
package struct AnswerPath: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        case name(String)
        /// Everything at this level.
        case every
    }

    package var steps: [Step]

    /// Names with dots between them; `*` stands for every one; an empty text means the whole.
    package init(_ text: String) {
        steps = text.isEmpty ? [] : text.split(separator: ".", omittingEmptySubsequences: false).map { $0 == "*" ? .every : .name(String($0)) }
    }

    /// Everything that it leads to.
    func values(in whole: AnswerJSON) -> [AnswerJSON] {
        steps.reduce([whole]) { values, step in
            switch step {
            case .name(let name): values.compactMap { $0.member(Array(name.utf8)) }
            case .every: values.flatMap(\.children)
            }
        }
    }

    func first(in whole: AnswerJSON) -> AnswerJSON? { values(in: whole).first }
}
