import CKafka
import FleetFormat
import PenstockPluginKit

/// The reading thread of a source: reads messages, offers them, and keeps its place in the group.
///
/// It polls the library whatever happens, because a member that does not poll for max.poll.interval.ms leaves its
/// group: the host may be busy for hours. Then the partitions are paused.
final class KafkaReader {
    /// A busy host is waited for so long before the partitions are paused: a pause discards what the library has
    /// fetched.
    private static let patience = Duration.seconds(1)
    /// The most bytes that are read and not yet passed on.
    private static let maximumBytes = 4 << 20
    /// A position that only tombstones moved is passed on so often.
    private static let positionInterval = Duration.seconds(1)
    /// A commit without an answer for so long counts as failed. The library may keep one that it has put off until it
    /// finds the group's coordinator, although it has found it.
    private static let commitPatience = Duration.seconds(30)

    let settings: KafkaSourceSettings
    let host: SourceHost
    let consumer: KafkaConsumer
    let pending: PendingOffers<KafkaReceipt>
    let progress: KafkaProgress
    var problems = KafkaProblems()

    /// The partitions that are read.
    var lanes: [KafkaPartition: KafkaLane] = [:]
    /// The offset of the next message by the name of the position: the journal's, then what was offered.
    var positions: [String: Int64]
    /// Partitions whose offset is to be found before they are read.
    var waiting: [KafkaPartition] = []
    var nextLookup = ContinuousClock.now
    /// How often each position was found beyond the end of the log.
    var beyondEnd: [KafkaPartition: Int] = [:]
    var revocation: Revocation?
    private(set) var isPaused = false

    private let reading = FleetReading()
    private var places: [KafkaMessage.Place: KafkaLane] = [:]
    private var listed: [KafkaLane] = []
    private var bytes = 0
    private var due: [KafkaBatch] = []
    private var nextCommit = ContinuousClock.now
    private var nextTerm = ContinuousClock.now
    private var lastCommit = ContinuousClock.now
    /// Commits without an answer so far.
    var commitsOnTheWay = 0

    init(
        _ settings: KafkaSourceSettings, _ host: SourceHost, _ consumer: KafkaConsumer,
        _ pending: PendingOffers<KafkaReceipt>, _ progress: KafkaProgress, positions: [String: Int64]
    ) {
        self.settings = settings
        self.host = host
        self.consumer = consumer
        self.pending = pending
        self.progress = progress
        self.positions = positions
    }

    func run() {
        while progress.phase != .ended { step() }
        commitAll(within: .seconds(5))
        consumer.close(within: .seconds(5))
        for lane in lanes.values { host.laneClosed(lane.name) }
    }

    /// A member that is stopped for longer than its session loses its partitions, and must store nothing of them when
    /// it goes on.
    private func renewTerms() {
        guard ContinuousClock.now >= nextTerm else { return }
        nextTerm = .now + settings.session / 10
        for lane in lanes.values { host.lane(lane.name, isOursFor: settings.session * 0.8) }
    }

    private func step() {
        renewTerms()
        let hasRoom = progress.phase == .reading && offerDue()
        setPaused(!hasRoom)
        endRevocation()
        if progress.phase == .reading { startWaiting() }
        commitDurable()
        problems.check(settings.topics, consumer)
        problems.show(host)
        guard hasRoom else {
            _ = poll(.milliseconds(revocation == nil ? 100 : 20))
            return
        }
        var count = 0
        while due.isEmpty, bytes < Self.maximumBytes, count < 10_000, poll(.zero) { count += 1 }
        passOn()
        if due.isEmpty, count == 0 { _ = poll(.milliseconds(idleTime)) }
    }

    /// `ready`, `stop` and `end` wake the thread.
    private var idleTime: Int {
        if revocation != nil { return 20 }
        return listed.isEmpty && waiting.isEmpty ? 500 : 100
    }

    private func poll(_ time: Duration) -> Bool {
        consumer.poll(time, onMessage: { take($0) }, onEvent: { handle($0) })
    }

    // MARK: - Messages

    private func take(_ message: KafkaMessage) {
        guard let lane = lane(of: message), !lane.isRevoked, message.offset < .max else { return }
        // After a pause or a seek the library may repeat messages.
        guard message.offset >= lane.next else { return }
        if let value = unsafe message.value, message.header(FleetHeader.format) != nil {
            unsafe takeFleet(message, value, lane)
        } else if let value = unsafe message.value {
            let isFull = lane.batch.count >= host.maxOfferEvents
            if isFull || (!lane.batch.isEmpty && lane.batch.byteCount + value.count > host.maxOfferBytes) {
                passOn(lane)
            }
            unsafe lane.batch.append(value)
            lane.offsets.append(message.offset)
            bytes += value.count
        } else {
            host.count("kafka_tombstones")
        }
        lane.next = message.offset + 1
        list(lane)
    }

    /// Passes on a message with a batch of an edge. Until its last part is stored, the message is read again, and the
    /// marks tell which of its events are stored.
    private func takeFleet(_ message: KafkaMessage, _ value: UnsafeRawBufferPointer, _ lane: KafkaLane) {
        if !lane.batch.isEmpty { passOn(lane) }
        var parts = [EventBuffer()]
        do throws(FleetReading.Problem) {
            parts = unsafe try reading.offers(
                value, (host.maxOfferEvents, host.maxOfferBytes), header: message.header)
        } catch {
            guard error.isUnreadable else { return host.fail("\(lane.name): \(error)") }
            leaveOut(lane.partition, message.offset, "\(error)")
        }
        for (index, part) in parts.enumerated() {
            due.append(lane.batch(of: part, at: message.offset, isLast: index == parts.count - 1))
        }
        bytes += value.count
        lane.passedOn(message.offset + 1)
    }

    /// A message that can never be stored must not stop its partition.
    private func leaveOut(_ partition: KafkaPartition, _ offset: Int64, _ reason: String) {
        host.log(
            .error, "a message is left out: \(reason)",
            ["topic": partition.topic, "partition": "\(partition.number)", "offset": "\(offset)"])
        host.count("kafka_left_out")
    }

    private func lane(of message: KafkaMessage) -> KafkaLane? {
        if let lane = places[message.place] { return lane }
        guard let lane = lanes[message.partition] else { return nil }
        places[message.place] = lane
        return lane
    }

    private func list(_ lane: KafkaLane) {
        guard !lane.isListed else { return }
        lane.isListed = true
        listed.append(lane)
    }

    /// Begins to read a partition.
    func add(_ lane: KafkaLane) {
        places = [:]
        lanes[lane.partition] = lane
        if lane.end != lane.next { list(lane) }
        host.laneOpened(lane.name)
        host.lane(lane.name, isOursFor: settings.session * 0.8)
        host.gauge("kafka_partitions", Double(lanes.count))
    }

    /// Reading goes on elsewhere, maybe further back, if the log was made anew.
    func move(_ partition: KafkaPartition, to offset: Int64) {
        guard let lane = lanes[partition] else { return }
        if let durable = progress[partition], durable > offset { progress[partition] = nil }
        lane.next = offset
        list(lane)
    }

    func remove(_ partitions: [KafkaPartition]) {
        places = [:]
        waiting.removeAll { partitions.contains($0) }
        for partition in partitions {
            guard let lane = lanes.removeValue(forKey: partition) else { continue }
            lane.isRevoked = true
            lane.isInsideMessage = false
            host.laneClosed(lane.name)
        }
        host.gauge("kafka_partitions", Double(lanes.count))
    }

    // MARK: - Offers

    /// Passes on what was read, when the library has no more at the moment.
    private func passOn() {
        var later: [KafkaLane] = []
        for lane in listed where !lane.isRevoked {
            let isPositionAlone = lane.batch.isEmpty && lane.end != nil
            if isPositionAlone, lane.changed + Self.positionInterval > .now {
                later.append(lane)
            } else if lane.end != lane.next {
                passOn(lane)
            }
        }
        for lane in listed { lane.isListed = false }
        listed = []
        for lane in later { list(lane) }
        bytes = 0
    }

    private func passOn(_ lane: KafkaLane) { due.append(lane.takeBatch()) }

    /// - Returns: false: the host is busy, or takes no more offers.
    private func offerDue() -> Bool {
        var taken = 0
        defer { due.removeFirst(taken) }
        for batch in due {
            if !batch.lane.isRevoked || batch.lane.isInsideMessage {
                do {
                    guard try offer(batch) else { return false }
                } catch {
                    let name = batch.lane.name
                    host.fail("\(name): \(error)")
                    return false
                }
            }
            taken += 1
        }
        return true
    }

    private func offer(_ batch: KafkaBatch) throws(SourceError) -> Bool {
        let position = Lane(name: batch.lane.name, position: "\(batch.receipt.end)")
        let wait = isPaused ? Duration.zero : Self.patience
        var events = batch.events
        var answer: PendingOffers<KafkaReceipt>.Answer
        do {
            answer = try pending.offer(events, lane: position, receipt: batch.receipt, waiting: wait)
        } catch {
            guard events.count == 1 else { throw error }
            leaveOut(batch.receipt.partition, batch.receipt.offsets.first ?? -1, "\(error)")
            events.removeAll()
            answer = try pending.offer(events, lane: position, receipt: batch.receipt, waiting: wait)
        }
        guard case .taken = answer else { return false }
        batch.lane.isInsideMessage = batch.isPart
        positions[batch.lane.name] = batch.receipt.end
        host.count("kafka_messages", by: UInt64(events.count))
        return true
    }

    private func setPaused(_ pauses: Bool) {
        guard pauses != isPaused else { return }
        isPaused = pauses
        let partitions = lanes.values.filter { !$0.isRevoked }.map(\.partition)
        if pauses { consumer.pause(partitions) } else { consumer.resume(partitions) }
    }

    // MARK: - Commits

    private func commitDurable() {
        guard ContinuousClock.now >= nextCommit, !consumer.isJoining else { return }
        nextCommit = .now + settings.commitInterval.duration
        if commitsOnTheWay > 0, lastCommit + Self.commitPatience < .now {
            host.log(.info, "a commit of offsets was not answered; they are committed again")
            commitsOnTheWay = 0
            for lane in lanes.values { lane.committed = nil }
        }
        let offsets = uncommitted(Array(lanes.values))
        guard !offsets.isEmpty else { return }
        lastCommit = .now
        if consumer.commit(offsets) {
            commitsOnTheWay += 1
        } else {
            for lane in lanes.values { lane.committed = nil }
        }
    }

    /// The last commit. Another one may still be on its way, or fail while the group shares its partitions anew.
    private func commitAll(within time: Duration) {
        let end = ContinuousClock.now + time
        var failure: KafkaError?
        while ContinuousClock.now < end {
            if commitsOnTheWay == 0, !consumer.isJoining {
                do throws(KafkaError) {
                    return try commit(Array(lanes.values), within: end - .now)
                } catch {
                    failure = error
                }
            }
            _ = poll(.milliseconds(20))
        }
        let cause = failure.map { ": \($0.message)" } ?? " in time"
        host.log(.warning, "offsets were not committed at the stop; another member reads events again\(cause)")
    }

    /// - Throws: the offsets may not be committed: the next member reads messages again.
    func commit(_ lanes: [KafkaLane], within time: Duration) throws(KafkaError) {
        let offsets = uncommitted(lanes)
        if offsets.isEmpty { return }
        do throws(KafkaError) {
            try consumer.commit(offsets, within: time)
        } catch {
            for lane in lanes { lane.committed = nil }
            throw error
        }
    }

    /// What is durable and not committed. It counts as committed from now on.
    private func uncommitted(_ lanes: [KafkaLane]) -> [(KafkaPartition, Int64?)] {
        var offsets: [(KafkaPartition, Int64?)] = []
        for lane in lanes {
            guard let durable = progress[lane.partition], durable > lane.committed ?? -1 else { continue }
            lane.committed = durable
            offsets.append((lane.partition, durable))
        }
        return offsets
    }
}
