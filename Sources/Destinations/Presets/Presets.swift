// Presets: services that Penstock knows, each a YAML file in this directory: what a user would
// otherwise write for an HTTP destination, with settings in place of what differs from user to user.
//
// Invariant: they are data, compiled into the program, so that there is no file to lose. What is in them is
// Configuration's to understand.

package enum ShippedPresets {
    /// By their names: the files' text.
    package static let all: [(name: String, text: [UInt8])] = [
        ("mixpanel", PackageResources.mixpanel_yaml)
    ]
}
