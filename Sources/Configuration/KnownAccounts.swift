/// Which users and groups this machine knows, so that a misspelt one is told before it matters.
package struct KnownAccounts: Sendable {
    package var hasUser: @Sendable (String) -> Bool
    package var hasGroup: @Sendable (String) -> Bool

    package init(hasUser: @escaping @Sendable (String) -> Bool, hasGroup: @escaping @Sendable (String) -> Bool) {
        self.hasUser = hasUser
        self.hasGroup = hasGroup
    }

    /// Nobody is looked up.
    package static let unchecked = KnownAccounts(hasUser: { _ in true }, hasGroup: { _ in true })
}
