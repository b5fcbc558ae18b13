import CKafka
import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Testing

/// The kafka plugin while brokers, requests and its own process fail.
@Suite struct KafkaFailureTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libkafka.so")
    }

    /// One request in flight for each broker: after a request that failed, a broker refuses the following ones of the
    /// same partition by their sequence numbers. The mock does not look at them and stores such a request, from which
    /// the library concludes that the one before it was stored, too, and reports it as delivered.
    private func stage(_ kafka: MockKafka, _ more: String = "", host: NamedHost? = nil) throws -> PluginStage {
        try PluginStage(
            "kafka", in: directory,
            settings: """
                {"brokers":\(kafka.brokers),"topic":"events","connect_timeout":"1s",
                "properties":{"max.in.flight":1}\(more)}
                """, journal: "j1"
        ) {
            if let host { $0.hostProgram = host.path }
        }
    }

    private func open(_ stage: PluginStage) throws { _ = try stage.destination.open(from: Cursor(position: 0)) }

    private func driver(_ stage: PluginStage) -> SinkDriver {
        SinkDriver(stage: stage) { #"{"userId":"u\#($0 % 20)"}"# }
    }

    /// Checks that nothing is lost, and that the keys keep their order.
    /// - Returns: how many messages there are more than events.
    @discardableResult
    private func check(_ kafka: MockKafka, _ count: UInt64) throws -> Int {
        let messages = try kafka.messages(["events": 4])
        let missing = Set(0..<count).subtracting(messages.compactMap(\.position)).sorted()
        #expect(missing.isEmpty)
        #expect(messages.allSatisfy { $0.position.map { $0 < count } == true })
        checkOrder(messages)
        return messages.count - Int(count)
    }

    @Test(
        arguments: [
            RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
            RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
            RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, RD_KAFKA_RESP_ERR__TRANSPORT,
            RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
        ].map(\.rawValue))
    func `an error that passes is retried by the library, in order`(code: Int32) throws {
        let kafka = try MockKafka()
        kafka.create("events")
        let stage = try stage(kafka)
        try open(stage)
        kafka.fail(Array(repeating: rd_kafka_resp_err_t(code), count: 5))
        let result = try driver(stage).deliver(0..<2000)
        #expect(result.delivered.count == 2000)
        #expect(result.retries == 0, "\(result.reasons)")
        let duplicates = try check(kafka, 2000)
        // After a lost connection the library sends requests again with the same sequence numbers, by which a broker
        // recognises them. The mock does not look at them.
        #expect(duplicates == 0 || rd_kafka_resp_err_t(code) == RD_KAFKA_RESP_ERR__TRANSPORT)
    }

    @Test(
        arguments: [
            RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_POLICY_VIOLATION, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
            RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
            RD_KAFKA_RESP_ERR_INVALID_RECORD,
        ].map(\.rawValue))
    func `an error that stays is a retry with a new producer, in order`(code: Int32) throws {
        let kafka = try MockKafka()
        kafka.create("events")
        let stage = try stage(kafka)
        try open(stage)
        kafka.fail([rd_kafka_resp_err_t(code)])
        let result = try driver(stage).deliver(0..<2000)
        #expect(result.delivered.count == 2000 && result.rejected.isEmpty)
        try check(kafka, 2000)
    }

    @Test func `brokers that are down at the start are an error, and the next attempt connects`() throws {
        let kafka = try MockKafka()
        kafka.create("events")
        kafka.setDown(-1)
        let stage = try stage(kafka)
        let error = #expect(throws: PluginError.self) { try open(stage) }
        #expect(error?.description.contains(": no broker answers: ") == true, "\(String(describing: error))")
        kafka.setUp(-1)
        try open(stage)
        #expect(try driver(stage).deliver(0..<100).delivered.count == 100)
        #expect(try check(kafka, 100) == 0)
    }

    @Test func `brokers that go down in mid-stream lose and reorder nothing`() throws {
        let kafka = try MockKafka()
        kafka.create("events")
        let stage = try stage(kafka)
        try open(stage)
        var isDown = false
        let result = try driver(stage).deliver(0..<5000) { result in
            guard result.delivered.count > 1500, !isDown else { return }
            isDown = true
            kafka.setDown(-1)
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(700)) { kafka.setUp(-1) }
        }
        #expect(isDown && result.delivered.count == 5000)
        try check(kafka, 5000)
    }

    @Test func `a leader that moves loses and reorders nothing`() throws {
        let kafka = try MockKafka()
        kafka.create("events")
        let stage = try stage(kafka)
        try open(stage)
        var moves: Int32 = 0
        var driver = driver(stage)
        // A leader moves while no request is in flight: the mock would refuse one at the old leader, and take the next
        // one at the new leader.
        driver.inFlight = 1
        let result = try driver.deliver(0..<5000) { result in
            guard result.delivered.count > (Int(moves) + 1) * 1000 else { return }
            moves += 1
            for partition in 0..<Int32(4) { kafka.setLeader("events", partition, (partition + moves) % 3 + 1) }
        }
        #expect(moves > 2 && result.delivered.count == 5000)
        let duplicates = try check(kafka, 5000)
        // On a busy machine the sink may wait too long for a report, and offers the events again.
        #expect(duplicates == 0 || result.retries > 0)
    }

    @Test func `messages without a report within the timeout are offered again, in order`() throws {
        let kafka = try MockKafka()
        kafka.create("events")
        let stage = try stage(kafka, #","timeout":"1s""#)
        try open(stage)
        var isDown = false
        let result = try driver(stage).deliver(0..<3000) { result in
            if result.retries > 0 { kafka.setUp(-1) }
            guard result.delivered.count > 1000, !isDown else { return }
            isDown = true
            kafka.setDown(-1)
        }
        #expect(result.delivered.count == 3000 && result.retries > 0)
        try check(kafka, 3000)
    }

    @Test func `a plugin's process that is killed in mid-stream loses and reorders nothing`() throws {
        let kafka = try MockKafka()
        kafka.create("events")
        let host = try NamedHost(in: directory)
        let stage = try stage(kafka, host: host)
        try open(stage)
        var isKilled = false
        let result = try driver(stage).deliver(0..<5000) { result in
            guard result.delivered.count > 1500, !isKilled else { return }
            isKilled = true
            kill(try host.process(), SIGKILL)
        }
        #expect(isKilled && result.delivered.count == 5000)
        try check(kafka, 5000)
    }

    @Test func `batches in flight when the destination is closed are offered again`() throws {
        let kafka = try MockKafka()
        kafka.create("events")
        let stage = try stage(kafka)
        try open(stage)
        kafka.setDown(-1)
        let batch = stage.offer([1, 2])
        stage.destination.close()
        #expect(stage.answers(batch).count == 1)
        #expect(stage.outcomes(batch, count: 2)?.contains(.delivered) == false)
    }
}
