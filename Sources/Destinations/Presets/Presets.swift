// Presets: descriptions of known services. Each is a YAML file in this directory. It holds the keys that a user would
// otherwise write for an HTTP destination, with settings in place of the parts that differ between users.
//
// Invariant: presets are data, compiled into the program, so no file can be missing. Configuration interprets them.

package enum ShippedPresets {
    /// The text of each file, by name.
    package static let all: [(name: String, text: [UInt8])] = [
        ("amplitude", PackageResources.amplitude_yaml),
        ("azure_blob", PackageResources.azure_blob_yaml),
        ("bigquery", PackageResources.bigquery_yaml),
        ("braze", PackageResources.braze_yaml),
        ("clickhouse", PackageResources.clickhouse_yaml),
        ("cloudkit", PackageResources.cloudkit_yaml),
        ("cloudwatch_logs", PackageResources.cloudwatch_logs_yaml),
        ("customerio", PackageResources.customerio_yaml),
        ("datadog", PackageResources.datadog_yaml),
        ("elasticsearch", PackageResources.elasticsearch_yaml),
        ("eventbridge", PackageResources.eventbridge_yaml),
        ("firebase", PackageResources.firebase_yaml),
        ("firehose", PackageResources.firehose_yaml),
        ("ga4", PackageResources.ga4_yaml),
        ("gcs", PackageResources.gcs_yaml),
        ("honeycomb", PackageResources.honeycomb_yaml),
        ("hubspot", PackageResources.hubspot_yaml),
        ("influxdb", PackageResources.influxdb_yaml),
        ("iterable", PackageResources.iterable_yaml),
        ("jitsu", PackageResources.jitsu_yaml),
        ("kinesis", PackageResources.kinesis_yaml),
        ("klaviyo", PackageResources.klaviyo_yaml),
        ("loki", PackageResources.loki_yaml),
        ("matomo", PackageResources.matomo_yaml),
        ("meta_conversions", PackageResources.meta_conversions_yaml),
        ("mixpanel", PackageResources.mixpanel_yaml),
        ("new_relic", PackageResources.new_relic_yaml),
        ("opensearch", PackageResources.opensearch_yaml),
        ("otlp", PackageResources.otlp_yaml),
        ("plausible", PackageResources.plausible_yaml),
        ("posthog", PackageResources.posthog_yaml),
        ("pubsub", PackageResources.pubsub_yaml),
        ("rudderstack", PackageResources.rudderstack_yaml),
        ("s3", PackageResources.s3_yaml),
        ("s3_compatible", PackageResources.s3_compatible_yaml),
        ("segment", PackageResources.segment_yaml),
        ("slack", PackageResources.slack_yaml),
        ("snowflake", PackageResources.snowflake_yaml),
        ("snowplow", PackageResources.snowplow_yaml),
        ("splunk", PackageResources.splunk_yaml),
        ("sqs", PackageResources.sqs_yaml),
        ("victorialogs", PackageResources.victorialogs_yaml),
        ("webhook", PackageResources.webhook_yaml),
    ]
}
