/// One invalid setting. It never contains the value.
package struct SettingsViolation: Sendable, Equatable, CustomStringConvertible {
    /// Its names from the outermost to the innermost; a list item is `[0]`.
    package var path: [String]
    package var problem: String
    /// The name is wrong, not the value.
    package var isOfKey = false
    package var hint: String?

    init(_ path: [String], _ problem: String, isOfKey: Bool = false, hint: String? = nil) {
        self.path = path
        self.problem = problem
        self.isOfKey = isOfKey
        self.hint = hint
    }

    /// `settings.table: …`
    package var sentence: String {
        "settings" + path.map { $0.hasPrefix("[") ? $0 : "." + $0 }.joined() + ": " + problem
    }

    package var description: String { sentence + (hint.map { "; " + $0 } ?? "") }
}
