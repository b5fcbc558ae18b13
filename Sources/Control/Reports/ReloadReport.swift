/// The result of a reload.
package struct ReloadReport: Codable, Sendable, Equatable {
    /// false: the previous configuration stays in effect, unchanged.
    package var applied: Bool
    /// Each formatted for a person: place, line, caret and hint.
    package var errors: [String]
    package var warnings: [String]

    package init(applied: Bool, errors: [String] = [], warnings: [String] = []) {
        self.applied = applied
        self.errors = errors
        self.warnings = warnings
    }
}
