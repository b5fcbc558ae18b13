import Platform

/// Decides which worker's turn each thread of a pool runs next. Pure: `RoutingPool` performs it under a lock.
///
/// - Turns are short, and the worker that has used the least time runs next. Workers that always have work get equal
///   shares, whatever their number. A worker that was idle starts at most `credit` below the others, so its turn is the
///   next one. A new worker starts one turn above the others, until it has had its first turn.
/// - A worker is *slow* if one turn used more processor time than `overrun`: a turn can't end in the middle of a long
///   script. Slow workers never occupy the last free thread, so the other workers always have one. A worker that calls
///   scripts counts as slow until it has been quick for `firstProbation`. A worker that turns out slow counts as slow
///   until it has been quick for `probation`, which doubles with each relapse.
/// - One sleeping thread, the keeper, wakes when the next turn is due. The others sleep until they are rung.
struct RunQueue {
    /// The length of a turn.
    static let slice = Duration.milliseconds(10)
    static let overrun = Duration.milliseconds(20)
    static let credit = Duration.milliseconds(20)
    static let firstProbation = Duration.seconds(10)
    static let probation = Duration.seconds(60)
    static let longestProbation = Duration.seconds(3600)

    enum Step: Equatable {
        /// Run the turn of the worker with this number.
        case run(Int)
        /// Sleep until rung, or until this instant.
        case sleep(until: Instant?)
        case end
    }

    struct Decision: Equatable {
        var step: Step
        /// A sleeping thread to ring, because it is needed, too.
        var ring: Int?
    }

    private struct Worker {
        enum State: Equatable {
            case idle, runnable
            /// `isWoken`: another turn was requested meanwhile.
            case running(since: Instant, isSlow: Bool, isWoken: Bool)
        }

        var state = State.idle
        /// When the next turn of an idle worker is due.
        var due: Instant?
        /// The time that it has used. The queue chooses the worker with the least.
        var used: Duration
        /// nil: the worker is quick.
        var slowUntil: Instant?
        /// The length of its last probation; zero: it was never found slow.
        var probation = Duration.zero
        var isNew = true
        var isCancelled = false
    }

    private var workers: [Worker?] = []
    private var free: [Int] = []
    /// In the order in which they became runnable.
    private var runnable: [Int] = []
    private var running: [Int] = []
    /// Sleeping threads. The one that fell asleep last is rung first, and the keeper last.
    private var asleep: [Int] = []
    private var keeper: (thread: Int, until: Instant)?
    /// A lower bound on the time of the next idle worker's turn.
    private var nextDue: Instant?
    /// The used time of the worker that was chosen last.
    private var floor = Duration.zero

    /// The intended and the actual number of threads.
    private(set) var threads: Int
    private(set) var alive = 0
    private(set) var isEnding = false

    /// - Parameter threads: at least 2.
    init(threads: Int) {
        precondition(threads >= 2, "one thread is kept free of slow workers, so a pool has two at least")
        self.threads = threads
    }

    // MARK: Workers

    /// - Parameter callsScripts: the worker may be slow.
    /// - Returns: the worker's number. It is valid until `cancel` or `ended` returns true.
    mutating func add(callsScripts: Bool, _ now: Instant) -> Int {
        let worker = Worker(used: floor + Self.slice, slowUntil: callsScripts ? now + Self.firstProbation : nil)
        if let number = free.popLast() {
            workers[number] = worker
            return number
        }
        workers.append(worker)
        return workers.count - 1
    }

    /// Requests a turn.
    /// - Returns: a sleeping thread to ring.
    mutating func wake(_ number: Int, _ now: Instant) -> Int? {
        switch workers[number]?.state {
        case .idle:
            makeRunnable(number)
            return hasWork(now) ? popSleeper() : nil
        case .running(let since, let isSlow, _):
            workers[number]?.state = .running(since: since, isSlow: isSlow, isWoken: true)
            return nil
        case .runnable, nil: return nil
        }
    }

    /// Removes a worker: now, or when its running turn has ended.
    /// - Returns: whether it is removed now.
    mutating func cancel(_ number: Int) -> Bool {
        guard let worker = workers[number] else { return false }
        if case .running = worker.state {
            workers[number]?.isCancelled = true
            return false
        }
        runnable.removeAll { $0 == number }
        remove(number)
        return true
    }

    // MARK: Threads

    /// - Returns: the number of threads to start, and the threads to ring so that they end.
    mutating func resize(_ threads: Int) -> (start: Int, ring: [Int]) {
        self.threads = max(2, threads)
        let missing = max(0, self.threads - alive)
        alive += missing
        guard alive > self.threads else { return (missing, []) }
        defer { asleep = [] }
        return (missing, asleep)
    }

    /// Ends all turns.
    /// - Returns: the threads to ring.
    mutating func end() -> [Int] {
        isEnding = true
        defer { asleep = [] }
        return asleep
    }

    /// Decides what an idle thread does next.
    mutating func next(_ thread: Int, _ now: Instant) -> Decision {
        asleep.removeAll { $0 == thread }
        if keeper?.thread == thread { keeper = nil }
        if isEnding || alive > threads {
            alive -= 1
            return Decision(step: .end, ring: !isEnding && hasWork(now) ? popSleeper() : nil)
        }
        wakeDue(now)
        if let place = choose(now) {
            start(runnable.remove(at: place), now)
            let mustRing = hasWork(now) || nextDue.map { due in keeper.map { due < $0.until } ?? true } ?? false
            return Decision(step: .run(running[running.count - 1]), ring: mustRing ? popSleeper() : nil)
        }
        asleep.append(thread)
        guard let nextDue, keeper.map({ nextDue < $0.until }) ?? true else {
            return Decision(step: .sleep(until: nil), ring: nil)
        }
        keeper = (thread, nextDue)
        return Decision(step: .sleep(until: nextDue), ring: nil)
    }

    /// Records the end of a turn.
    /// - Parameters:
    ///   - worked: the processor time that the turn used.
    ///   - due: when the next turn is due; nil: only when woken.
    /// - Returns: whether the worker was removed.
    mutating func ended(_ number: Int, worked: Duration, due: Instant?, _ now: Instant) -> Bool {
        guard var worker = workers[number], case .running(let since, _, let isWoken) = worker.state else {
            preconditionFailure("a turn ended that was not running")
        }
        running.removeAll { $0 == number }
        if worker.isCancelled {
            remove(number)
            return true
        }
        worker.used += (now - since) - (worker.isNew ? Self.slice : .zero)
        worker.isNew = false
        worker.state = .idle
        judge(&worker, worked, now)
        workers[number] = worker
        if isWoken || due.map({ $0 <= now }) ?? false {
            makeRunnable(number)
        } else if let due {
            workers[number]?.due = due
            nextDue = min(nextDue ?? due, due)
        }
        return false
    }

    /// Whether no thread is left for a worker that has work. If that lasts, the pool hangs.
    func isSaturated(_ now: Instant) -> Bool { running.count >= threads || hasWork(now) }

    // MARK: Choosing

    private mutating func judge(_ worker: inout Worker, _ worked: Duration, _ now: Instant) {
        if worked > Self.overrun {
            if worker.slowUntil == nil || worker.probation == .zero {
                worker.probation = min(max(worker.probation * 2, Self.probation), Self.longestProbation)
            }
            worker.slowUntil = now + worker.probation
        } else if let until = worker.slowUntil, until <= now {
            worker.slowUntil = nil
        }
    }

    /// - Returns: the index in `runnable` of the worker to run.
    private func choose(_ now: Instant) -> Int? {
        var chosen: (place: Int, used: Duration)?
        let mayBeSlow = mayRunSlow(now)
        for (place, number) in runnable.enumerated() {
            guard let worker = workers[number], mayBeSlow || worker.slowUntil == nil else { continue }
            if let chosen, chosen.used <= worker.used { continue }
            chosen = (place, worker.used)
        }
        return chosen?.place
    }

    /// Whether a thread is left for the other workers if one more slow worker runs. A running turn that has overrun
    /// counts as slow.
    private func mayRunSlow(_ now: Instant) -> Bool {
        var slow = 0
        for number in running {
            guard case .running(let since, let isSlow, _)? = workers[number]?.state else { continue }
            if isSlow || now - since > Self.overrun { slow += 1 }
        }
        return slow < threads - 1
    }

    private func hasWork(_ now: Instant) -> Bool {
        guard !runnable.isEmpty else { return false }
        return mayRunSlow(now) || runnable.contains { workers[$0]?.slowUntil == nil }
    }

    private mutating func popSleeper() -> Int? {
        guard let place = asleep.lastIndex(where: { $0 != keeper?.thread }) ?? asleep.indices.last else { return nil }
        return asleep.remove(at: place)
    }

    private mutating func start(_ number: Int, _ now: Instant) {
        guard let worker = workers[number] else { preconditionFailure("a worker that is gone is not runnable") }
        floor = max(floor, worker.used)
        workers[number]?.state = .running(since: now, isSlow: worker.slowUntil != nil, isWoken: false)
        running.append(number)
    }

    private mutating func makeRunnable(_ number: Int) {
        guard let worker = workers[number] else { return }
        workers[number]?.used = max(worker.used, floor - Self.credit)
        workers[number]?.state = .runnable
        workers[number]?.due = nil
        runnable.append(number)
    }

    /// Makes every worker runnable whose turn is due.
    private mutating func wakeDue(_ now: Instant) {
        guard let due = nextDue, due <= now else { return }
        nextDue = nil
        for number in workers.indices {
            guard let due = workers[number]?.due else { continue }
            if due <= now { makeRunnable(number) } else { nextDue = min(nextDue ?? due, due) }
        }
    }

    private mutating func remove(_ number: Int) {
        workers[number] = nil
        free.append(number)
    }
}
