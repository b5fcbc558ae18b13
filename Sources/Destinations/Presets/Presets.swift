// Presets: services that Penstock knows, each a YAML file in this directory: what a user would
// otherwise write for an HTTP destination, with settings in place of what differs from user to user.
//
// Invariant: they are data, compiled into the program, so that there is no file to lose. What is in them is
// Configuration's to understand.

package enum ShippedPresets {
    /// By their names: the files' text.
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
