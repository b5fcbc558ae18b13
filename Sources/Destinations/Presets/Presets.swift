// Presets: descriptions of known services. Each is a YAML file in this directory. It holds the keys that a user would
// otherwise write for an HTTP destination, with settings in place of the parts that differ between users.
//
// Invariant: presets are data, compiled into the program, so no file can be missing. Configuration interprets them.

package enum ShippedPresets {
    /// The text of each file, by name.
    package static let all: [(name: String, text: [UInt8])] = [
        ("amplitude", PackageResources.amplitude_yaml),
        ("clickhouse", PackageResources.clickhouse_yaml),
        ("cloudkit", PackageResources.cloudkit_yaml),
        ("datadog", PackageResources.datadog_yaml),
        ("elasticsearch", PackageResources.elasticsearch_yaml),
        ("firebase", PackageResources.firebase_yaml),
        ("ga4", PackageResources.ga4_yaml),
        ("loki", PackageResources.loki_yaml),
        ("mixpanel", PackageResources.mixpanel_yaml),
        ("opensearch", PackageResources.opensearch_yaml),
        ("posthog", PackageResources.posthog_yaml),
        ("rudderstack", PackageResources.rudderstack_yaml),
        ("segment", PackageResources.segment_yaml),
        ("webhook", PackageResources.webhook_yaml),
    ]
}
