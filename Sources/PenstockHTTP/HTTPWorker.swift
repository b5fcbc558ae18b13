import Foundation
import Penstock

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Performs the decisions of `HTTPOutbox` in its own thread: requests, spool and clock.
final class HTTPWorker {
    typealias Instant = ContinuousClock.Instant

    /// The longest wait in one turn.
    private static let longestWait: Duration = .seconds(3600)
    /// More bytes than most events have.
    private static let usualLine = 4 << 10
    /// The largest `Retry-After` in seconds that is read.
    private static let longestRetryAfter: Int64 = 1_000_000

    private let client: HTTPClient
    private let options: HTTPProvider.Options
    private let spool: ProviderSpool
    private var random = SystemRandomNumberGenerator()
    /// The lines of the current request.
    private var current: LineBlock?
    /// Whether the current outage has been reported.
    private var hasReportedOutage = false
    private var drops: DropReports
    private var closesAt: Instant?

    init(_ client: HTTPClient) {
        self.client = client
        options = client.options
        drops = DropReports(
            queueEvents: options.queueEvents, queueBytes: options.queueBytes,
            spoolBytes: options.spool == nil ? nil : options.spoolBytes, advice: "that \(options.service) answers")
        spool = ProviderSpool(
            directory: options.spoolOfService, maximumBytes: options.spoolBytes,
            segmentBytes: options.spoolSegmentBytes, adoptionInterval: options.adoptionInterval)
    }

    func run() {
        while !turn(now: .now) {}
        spool.close()
    }

    /// - Returns: Whether this was the last turn.
    private func turn(now: Instant) -> Bool {
        let turn = client.beginTurn()
        if turn.isClosing, closesAt == nil { closesAt = now + options.closingTimeout }
        if let report = drops.report(now: now, newDrops: client.newDrops) { client.report(report) }
        if turn.isPurging { purge() }
        if let answer = turn.answer { settle(answer, now: now) }
        adoptIfDue(now: now)

        let isDue = [turn.deadline, closesAt].contains { $0.map { $0 <= now } ?? false }
        let disk = HTTPOutbox.Disk(unsent: spool.unsent, hasRoom: spool.hasRoom(now))
        switch client.next(now: now, disk: disk, mustSpool: isDue) {
        case nil: break
        case .spool(let oldest): append(oldest, now: now)
        case .post(let block): post(block)
        case .postSpooled(let count, let bytes): postSpooled(lines: count, bytes: bytes, now: now)
        case .wait(let until):
            if isDue { client.answerFlushes(now: now) }
            if turn.isClosing, isDone || closesAt.map({ $0 <= now }) ?? false {
                end()
                return true
            }
            let times = [until, turn.deadline, closesAt, drops.next, spool.adoptsAt, now + Self.longestWait]
            client.wait(until: times.compactMap { $0 }.filter { $0 > now }.min() ?? now)
        }
        return false
    }

    private var isDone: Bool { client.decide { outbox, _ in outbox.count == 0 } && spool.bytes == 0 }

    private func end() {
        let lost = client.workerEnds()
        guard lost > 0 else { return }
        client.report(
            Diagnostic(
                .eventsDropped,
                "\(lost) \(lost == 1 ? "event was" : "events were") lost when the provider was released: "
                    + "neither delivered nor spooled; flush the provider before you release it",
                events: lost))
    }

    // MARK: Requests

    private func post(_ block: LineBlock) {
        current = block
        var request = URLRequest(url: options.service.appendingPathComponent("v1/batch"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("\(Library.name)/\(Library.version)", forHTTPHeaderField: "User-Agent")
        request.setValue(
            "Basic " + Data((options.writeKey + ":").utf8).base64EncodedString(), forHTTPHeaderField: "Authorization")
        request.httpBody = Data(HTTPBatch.body(block.bytes, sentAt: Date()))
        let client = client
        client.session.dataTask(with: request) { _, response, error in
            guard let response = response as? HTTPURLResponse else {
                return client.take(.failed(error?.localizedDescription ?? "no response"))
            }
            let seconds = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) } ?? -1
            let isValid = (0...Self.longestRetryAfter).contains(seconds)
            client.take(.status(response.statusCode, retryAfter: isValid ? .seconds(seconds) : nil))
        }.resume()
    }

    private func settle(_ answer: HTTPOutbox.Answer, now: Instant) {
        let block = current
        current = nil
        let verdict = client.decide { outbox, _ in outbox.answered(answer, now: now, using: &random) }
        switch verdict {
        case .delivered(let settled):
            hasReportedOutage = false
            release(settled) { $0.delivered += settled.lines }
        case .refused(let settled):
            release(settled) { $0.refused += settled.lines }
            report(refusal: answer, of: block)
        case .split: break
        case .retry:
            if !hasReportedOutage {
                let place = options.spool == nil ? " in memory" : ""
                client.report(
                    Diagnostic(
                        .unreachable, "\(options.service): \(Self.text(answer)); events are kept\(place) and retried",
                        events: client.statistics.inMemory))
            }
            hasReportedOutage = true
        }
        // What was read and not sent, or not accepted, is sent next.
        spool.rewind()
    }

    private func release(_ settled: HTTPOutbox.Settled, _ count: (inout HTTPProvider.Statistics) -> Void) {
        if settled.onDisk > 0 {
            spool.acknowledge(bytes: settled.onDisk)
            noteSpool()
        }
        client.decide { _, numbers in
            count(&numbers)
            numbers.inMemory -= settled.inMemory
            numbers.purged -= settled.purged
        }
        client.answerFlushes(now: nil)
    }

    private func report(refusal answer: HTTPOutbox.Answer, of block: LineBlock?) {
        guard let block else { return }
        let problem = "was rejected by \(options.service): \(Self.text(answer))"
        if block.lines == 1, let event = block.event(0) {
            client.report(Diagnostic(.eventRefused, about: event, problem))
        } else {
            // The other events of the request were purged.
            client.report(Diagnostic(.eventRefused, "a batch \(problem)", events: block.lines))
        }
    }

    private static func text(_ answer: HTTPOutbox.Answer) -> String {
        switch answer {
        case .status(401, _): "HTTP 401: check the write key"
        case .status(let status, _): "HTTP \(status)"
        case .failed(let problem): problem
        }
    }

    // MARK: The spool

    private func append(_ oldest: HTTPOutbox.Piece, now: Instant) {
        switch spool.append(oldest.block.bytes, wasSent: oldest.wasSent, now: now) {
        case .done:
            client.decide { outbox, numbers in numbers.inMemory -= outbox.spooled(oldest) }
            noteSpool()
            client.answerFlushes(now: nil)
        case .full: break
        case .failed(let problem?):
            client.report(Diagnostic(.spoolFailed, problem, events: client.statistics.inMemory))
        case .failed(nil): break
        }
    }

    private func postSpooled(lines: Int, bytes: Int, now: Instant) {
        do throws(SpoolUnavailable) {
            // A small batch needs no large read.
            let size = lines < bytes / Self.usualLine ? lines * Self.usualLine : bytes
            guard var block = try spool.next(size) else {
                let (bytes, problem) = spool.skipUnreadable()
                spool.acknowledge(bytes: bytes)
                noteSpool()
                return client.report(Diagnostic(.eventsDropped, problem))
            }
            block.keep(lines: lines, bytes: bytes - HTTPBatch.overhead)
            client.decide { outbox, _ in outbox.beginSpooled(lines: block.lines, bytes: block.bytes.count) }
            post(block)
        } catch {
            client.decide { outbox, _ in outbox.postpone(now: now, using: &random) }
            report(error)
        }
    }

    private func adoptIfDue(now: Instant) {
        do throws(SpoolUnavailable) {
            guard try spool.adoptIfDue(now, isWaiting: current != nil) else { return }
        } catch {
            report(error)
        }
        noteSpool()
    }

    private func report(_ problem: SpoolUnavailable) {
        if let report = spool.report(problem) { client.report(report) }
    }

    private func noteSpool() {
        let bytes = spool.bytes
        client.decide { _, numbers in numbers.spooledBytes = bytes }
    }

    private func purge() {
        do throws(SpoolUnavailable) { try spool.purge() } catch { report(error) }
        client.decide { outbox, _ in outbox.purgedDisk() }
        noteSpool()
    }
}
