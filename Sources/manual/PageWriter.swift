/// Builds a page of the manual in one format.
protocol PageWriter: Sendable {
    var text: String { get }

    mutating func section(_ name: String)
    mutating func subsection(_ name: String)
    /// Appends paragraphs, which empty lines separate in `words`.
    mutating func prose(_ words: String)
    /// Appends a term, its argument (may be empty), and its meaning.
    mutating func item(_ term: String, _ argument: String, _ words: String)
    /// Appends lines without filling.
    mutating func example(_ lines: String)
}
