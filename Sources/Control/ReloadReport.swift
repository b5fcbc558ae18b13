/// What became of a reload.
package struct ReloadReport: Codable, Sendable, Equatable {
    /// false: the configuration that ran before runs on, untouched.
    package var applied: Bool
    /// Each as a person reads it: place, line, caret, hint.
    package var errors: [String]
    package var warnings: [String]

    package init(applied: Bool, errors: [String] = [], warnings: [String] = []) {
        self.applied = applied
        self.errors = errors
        self.warnings = warnings
    }
}
