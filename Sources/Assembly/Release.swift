/// This release of Penstock.
package enum Release {
    /// Penstock's version: semantic versioning (semver.org).
    package static let version = "0.1.0"
}
