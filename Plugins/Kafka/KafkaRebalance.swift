import CKafka
import PenstockPluginKit

/// Partitions that move to another member, which waits until they are free.
struct Revocation {
    var partitions: [KafkaPartition]
    var deadline: ContinuousClock.Instant
    /// Until when a commit on its way is waited for, once all events are durable.
    var commitDeadline: ContinuousClock.Instant?
}

/// The reading thread as a member of its group.
extension KafkaReader {
    /// A broker that has just become the leader may know less of its log than it has.
    private static let patienceBeyondEnd = 5
    private static let commitTime = Duration.seconds(3)
    private static let lookupTime = Duration.milliseconds(1500)
    private static let lookupInterval = Duration.seconds(1)

    func handle(_ event: KafkaConsumerEvent) {
        switch event {
        case .assigned(let partitions): begin(partitions)
        case .revoked(let partitions, let isLost): isLost ? lose(partitions) : end(partitions)
        case .outOfRange(let partition): lanes[partition].map { _ in waiting.append(partition) }
        case .committed(let partitions, let error):
            commitsOnTheWay = max(0, commitsOnTheWay - 1)
            guard let error, error.code != RD_KAFKA_RESP_ERR__NO_OFFSET else { return }
            host.log(.info, "offsets were not committed, and are again: \(error.message)")
            problems.report(error, error.message, group: settings.group)
            for partition in partitions { lanes[partition]?.committed = nil }
        case .failed(let error, let text):
            host.log(.info, "librdkafka: \(text)", ["error": error.message])
            problems.report(error, text, group: settings.group)
        case .fatal(let reason): host.fail(reason)
        case .log(let level, let line): host.log(level, line)
        }
    }

    // MARK: - New partitions

    private func begin(_ partitions: [KafkaPartition]) {
        problems.groupWorks()
        host.log(.info, "partitions were assigned", ["partitions": text(partitions)])
        waiting += partitions
        let starts = progress.phase == .reading ? find() : []
        // Even an empty list: the library waits for the call. What is missing is added later.
        assign(starts)
    }

    /// Begins to read partitions whose offset was not found before.
    func startWaiting() {
        guard !waiting.isEmpty, ContinuousClock.now >= nextLookup else { return }
        let starts = find()
        let known = starts.filter { lanes[$0.partition] != nil }
        for start in known {
            do {
                // A seek is refused: the library has stopped fetching.
                try consumer.unassign([start.partition])
                try consumer.assign([(start.partition, start.offset)])
                if isPaused { consumer.pause([start.partition]) }
                if start.committed == nil { lanes[start.partition]?.committed = nil }
                move(start.partition, to: start.offset)
            } catch {
                return host.fail("\(text([start.partition])) cannot be read on: \(error.message)")
            }
        }
        let new = starts.filter { lanes[$0.partition] == nil }
        if !new.isEmpty { assign(new) }
    }

    private struct Start {
        var partition: KafkaPartition
        var offset: Int64
        /// The group's offset; nil: none, or one that is no longer of use.
        var committed: Int64?
    }

    private func assign(_ starts: [Start]) {
        do {
            try consumer.assign(starts.map { ($0.partition, $0.offset) })
        } catch {
            return host.fail("the group's assignment failed: \(error.message)")
        }
        for start in starts {
            let name = start.partition.positionName
            add(
                KafkaLane(
                    start.partition, name: name, next: start.offset, end: positions[name], committed: start.committed))
            // The journal's position is durable. One that is of no use any more must not be committed.
            let stored = positions[name].flatMap { $0 <= start.offset ? $0 : nil }
            progress[start.partition] = progress[start.partition].flatMap { $0 <= start.offset ? $0 : nil } ?? stored
        }
        // A partition that was paused when it moved away is still paused when it comes back.
        let partitions = starts.map(\.partition)
        if isPaused { consumer.pause(partitions) } else { consumer.resume(partitions) }
    }

    /// Finds the offsets of the partitions that wait for them. Takes them from `waiting`.
    private func find() -> [Start] {
        guard !waiting.isEmpty else { return [] }
        nextLookup = .now + Self.lookupInterval
        let partitions = Array(Set(waiting)).sorted()
        let committed: [KafkaPartition: Int64]
        do {
            committed = try consumer.committed(partitions, within: Self.lookupTime)
        } catch {
            problems.lookupFailed(error, group: settings.group)
            return []
        }
        let (logs, error) = consumer.logs(partitions, within: Self.lookupTime)
        if let error { problems.lookupFailed(error, group: settings.group) }
        waiting = partitions.filter { logs[$0] == nil }
        return logs.sorted { $0.key < $1.key }.compactMap { partition, log in
            // A partition that is read already has left its log behind: the group's offset is older.
            let stored = lanes[partition]?.next ?? positions[partition.positionName]
            let start = KafkaStart(stored: stored, committed: committed[partition], log: log, policy: settings.start)
            guard canStart(start, partition, log) else {
                waiting.append(partition)
                return nil
            }
            // After the topic was created again, the group's offset is beyond the log's end, too.
            let isUsable = (committed[partition] ?? 0) <= log.end
            return Start(
                partition: partition, offset: start.offset, committed: isUsable ? committed[partition] : nil)
        }
    }

    /// Reports what is lost.
    /// - Returns: false: look again.
    private func canStart(_ start: KafkaStart, _ partition: KafkaPartition, _ log: KafkaStart.Log) -> Bool {
        let place: KeyValuePairs = ["topic": partition.topic, "partition": "\(partition.number)"]
        switch start.loss {
        case nil: break
        case .deleted(let offsets):
            host.count("kafka_lost_offsets", by: UInt64(offsets))
            host.log(
                .error,
                "\(offsets) offsets were deleted before they were read: the position was \(start.offset - offsets), the"
                    + " log begins at \(start.offset), where reading goes on; keep messages longer (retention.ms)",
                place)
        case .unknown(let position):
            let count = beyondEnd[partition, default: 0] + 1
            beyondEnd[partition] = count
            guard count > Self.patienceBeyondEnd else { return false }
            host.count("kafka_positions_beyond_end")
            host.log(
                .error,
                "the position \(position) is beyond the log's end \(log.end): the topic was created again, or a broker"
                    + " lost messages; reading goes on at the log's beginning, \(log.first)", place)
        }
        beyondEnd[partition] = nil
        return true
    }

    // MARK: - Partitions of other members

    private func end(_ partitions: [KafkaPartition]) {
        host.log(.info, "partitions move to other members", ["partitions": text(partitions)])
        // What is read and not offered is the next member's.
        for partition in partitions { lanes[partition]?.isRevoked = true }
        waiting.removeAll { partitions.contains($0) }
        consumer.pause(partitions.filter { lanes[$0] != nil })
        revocation = Revocation(partitions: partitions, deadline: .now + settings.revokeTimeout.duration)
        endRevocation()
    }

    /// Lets partitions go as soon as everything that was offered of them is durable.
    func endRevocation() {
        guard let revocation else { return }
        let lanes = revocation.partitions.compactMap { self.lanes[$0] }
        let late = lanes.filter { pending.count(of: $0.name) > 0 || $0.isInsideMessage }
        if ContinuousClock.now < revocation.deadline {
            if !late.isEmpty { return }
            // A commit on its way may still fail, because the group shares its partitions anew.
            let commitDeadline = revocation.commitDeadline ?? .now + Self.commitTime
            self.revocation?.commitDeadline = commitDeadline
            if commitsOnTheWay > 0, ContinuousClock.now < commitDeadline { return }
        }
        if !late.isEmpty {
            host.log(
                .warning,
                "partitions move although the journal has not stored all of their events, which may come twice",
                ["partitions": text(late.map(\.partition))])
        }
        do throws(KafkaError) {
            try commit(lanes, within: Self.commitTime)
        } catch {
            host.log(.warning, "offsets were not committed; events may come twice: \(error.message)")
        }
        release(revocation.partitions)
    }

    /// Another member may read them already: a commit would come too late.
    private func lose(_ partitions: [KafkaPartition]) {
        host.log(.warning, "partitions were lost", ["partitions": text(partitions)])
        release(partitions)
    }

    private func release(_ partitions: [KafkaPartition]) {
        revocation = nil
        // One that still waits for its offset was never assigned.
        let assigned = partitions.filter { lanes[$0] != nil }
        remove(partitions)
        do {
            try consumer.unassign(assigned)
        } catch {
            host.fail("the group's assignment failed: \(error.message)")
        }
    }

    private func text(_ partitions: [KafkaPartition]) -> String {
        let shown = partitions.sorted().prefix(20).map { "\($0.topic)/\($0.number)" }.joined(separator: " ")
        return partitions.count > 20 ? "\(shown) and \(partitions.count - 20) more" : shown
    }
}
