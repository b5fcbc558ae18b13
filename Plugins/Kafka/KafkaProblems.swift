import CKafka
import PenstockPluginKit

/// What keeps a source from reading, as the operator sees it.
struct KafkaProblems {
    /// A problem of the cluster or a topic. It is checked every few seconds until it is gone.
    private var cluster: String?
    /// A problem of the group. It ends with the next assignment.
    private var group: String?
    /// The last error of a connection.
    private var cause: String?
    private var shown: String?
    private var nextCheck = ContinuousClock.now

    private static let interval = Duration.seconds(5)

    mutating func report(_ error: KafkaError, _ text: String, group name: String) {
        switch error.code {
        case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
            cluster = cluster ?? "no broker answers: \(cause ?? text)"
        case RD_KAFKA_RESP_ERR__AUTHENTICATION:
            cause = "authentication failed; check settings.sasl and settings.tls: \(text)"
            cluster = cause
        case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__RESOLVE, RD_KAFKA_RESP_ERR__SSL: cause = text
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
            RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            if cluster == nil {
                cluster = text
                nextCheck = .now
            }
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
            group =
                "the group \(name) may not be used: \(error.message); permit it to the user of settings.sasl, or change"
                + " settings.group"
        case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
            group =
                "members of the group \(name) use another assignment strategy: set cooperative-sticky for them, or"
                + " change settings.group"
        default: break
        }
    }

    /// A lookup of offsets failed.
    mutating func lookupFailed(_ error: KafkaError, group name: String) {
        report(error, error.message, group: name)
        if cluster == nil, group == nil { cluster = "offsets cannot be read: \(error.message)" }
        nextCheck = .now + Self.interval
    }

    mutating func groupWorks() { group = nil }

    /// Asks the cluster, if there was a problem and enough time has passed.
    mutating func check(_ topics: [String], _ consumer: KafkaConsumer) {
        guard cluster != nil, ContinuousClock.now >= nextCheck else { return }
        cluster = nil
        for topic in topics {
            guard let problem = consumer.metadataProblem(of: topic, within: .seconds(1)) else { continue }
            cluster = problem.text
            if problem.isOfCluster {
                if let cause { cluster = "\(problem.text): \(cause)" }
                break
            }
        }
        if cluster == nil { cause = nil }
        nextCheck = .now + Self.interval
    }

    mutating func show(_ host: SourceHost) {
        let problem = cluster ?? group
        guard problem != shown else { return }
        shown = problem
        host.problem(problem)
    }
}
