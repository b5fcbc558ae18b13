/// The users and groups of this machine, so that a misspelt name is reported early.
package struct KnownAccounts: Sendable {
    package var hasUser: @Sendable (String) -> Bool
    package var hasGroup: @Sendable (String) -> Bool

    package init(hasUser: @escaping @Sendable (String) -> Bool, hasGroup: @escaping @Sendable (String) -> Bool) {
        self.hasUser = hasUser
        self.hasGroup = hasGroup
    }

    /// Accepts every name without a lookup.
    package static let unchecked = KnownAccounts(hasUser: { _ in true }, hasGroup: { _ in true })
}
