import CPluginChannel
import Platform
import Synchronization
import Telemetry

/// The process of one plugin, and the messages to and from it (plugin_channel.h). One thread makes requests; any thread
/// may end the process.
///
/// It trusts nothing that the process sends: a message that is not what the protocol allows ends the process.
///
/// Unsafe part: structs of plain numbers are copied from and to the bytes of messages.
@safe package final class PluginProcess: Sendable {
    package struct Reply {
        package var status: Int32
        package var values: (UInt64, UInt64, UInt64, UInt64)
        package var text: [UInt8]

        package var reason: String {
            let text = String(decoding: text.prefix(Int(PLUGIN_CHANNEL_ERROR_LIMIT)), as: UTF8.self)
            return text.isEmpty ? "the plugin gave no reason" : text
        }
    }

    private struct State {
        var isWaiting = false
        var reply: Reply?
        /// Why it has ended, or is being ended.
        var end: String?
        var hasEnded = false
    }

    private let child: ChildProcess
    private let receiver: any PluginMessageReceiver
    private let state = Mutex(State())
    private let bell = Doorbell()
    private let threads = Mutex<[WorkerThread]>([])
    /// The process's number.
    package var id: Int32 { child.id }

    private let limits: PluginLimits
    private let budget: Mutex<ProcessorBudget?>

    /// Starts the process. It loads nothing yet.
    /// - Parameters:
    ///   - file: checked; the process loads it from this descriptor.
    ///   - receiver: called on threads of this object, until `end` has returned.
    package init(
        _ file: borrowing FileDescriptor, program: String, name: String, sendTimeout: Duration,
        limits: PluginLimits, receiver: any PluginMessageReceiver, _ clock: any Clock
    ) throws(PluginError) {
        self.limits = limits
        budget = Mutex(limits.processors.map { ProcessorBudget(share: $0, clock.now()) })
        do throws(SystemError) {
            child = try ChildProcess(
                program, libraries: PluginHostProgram.libraries, file: file, sendTimeout: sendTimeout)
        } catch {
            throw PluginError(
                .notStarted, "cannot start the plugin's process: \(error); reinstall Penstock")
        }
        self.receiver = receiver
        do throws(SystemError) {
            let receiving = try WorkerThread(trying: "plugin \(name)") { [self] in receive() }
            threads.withLock { $0.append(receiving) }
            let printing = try WorkerThread(trying: "stderr \(name)") { [self] in readOutput() }
            threads.withLock { $0.append(printing) }
            try child.limit(
                .init(memory: UInt64(clamping: limits.memory), openFiles: UInt64(clamping: limits.openFiles)))
            renewBudget(clock.now())
        } catch {
            child.kill()
            if threads.withLock(\.isEmpty) { _ = child.wait() } else { close() }
            throw PluginError(.failed, "cannot prepare the plugin's process: \(error)")
        }
    }

    /// Why the process has ended, or is being ended; nil while it lives.
    package var end: String? { state.withLock { $0.end } }

    /// Sends a request and waits for its reply.
    /// - Parameter limit: the process is ended if it does not reply within this time.
    package func request(
        _ type: plugin_channel_type, token: UInt64 = 0, _ body: [UInt8] = [], descriptor: Int32? = nil,
        within limit: Duration, _ clock: any Clock
    ) throws(PluginError) -> Reply {
        let isAlive = state.withLock { state in
            state.reply = nil
            state.isWaiting = state.end == nil
            return state.isWaiting
        }
        guard isAlive else { throw ended }
        let now = clock.now()
        if budget.withLock({ $0?.isDue(now) ?? false }) { renewBudget(now) }
        let header = plugin_header(type: type.rawValue, length: UInt32(clamping: body.count), token: token)
        do throws(SystemError) {
            try child.send(Self.bytes(of: header) + body, descriptor: descriptor)
        } catch {
            // If it has ended, the receiving thread knows how.
            if !error.isDisconnected { terminate("the plugin's process does not read: \(error)") }
        }
        var deadline: Instant? = clock.now() + limit
        while true {
            let (reply, hasEnded) = state.withLock { state in
                if state.reply != nil || state.hasEnded { state.isWaiting = false }
                return (state.reply, state.hasEnded)
            }
            if let reply { return reply }
            if hasEnded { throw ended }
            if let end = deadline, clock.now() >= end {
                terminate("the plugin did not return within \(Readable.duration(limit))")
                // The receiving thread rings when the process has ended.
                deadline = nil
            }
            bell.wait(until: deadline)
        }
    }

    /// Ends the process at once.
    /// - Parameter reason: a clause for the operator. The first one counts.
    package func terminate(_ reason: String) {
        state.withLock { if $0.end == nil { $0.end = reason } }
        child.kill()
    }

    /// Ends the process and waits for its threads. Not on one of them.
    package func close() {
        terminate("the plugin was stopped")
        for thread in threads.withLock({ exchange(&$0, with: []) }) { thread.join() }
    }

    /// Ends the process if it has used more processor time than its limit permits. Any thread.
    package func renewBudget(_ now: Instant) {
        guard let used = child.processorTime else { return }
        budget.withLock { budget in
            guard budget != nil else { return }
            if let limit = budget?.renew(used: used, now) {
                child.limitProcessorTime(seconds: limit)
            } else {
                terminate(usedTooMuchTime)
            }
        }
    }

    private var usedTooMuchTime: String {
        "the plugin used more processor time than limits.cpu permits (\(limits.processors ?? 0))"
    }

    private var ended: PluginError {
        PluginError(.failed, end ?? "the plugin's process has ended")
    }

    // MARK: - The threads

    private func receive() {
        var messages = PluginMessages(receiver) { [self] in take($0) }
        while let (_, piece) = child.read([.messages]) {
            if messages.take(piece) { continue }
            terminate("the plugin sent a message that the protocol does not allow")
            break
        }
        // It closed the pipe, or has ended: nothing more can come of it.
        child.kill()
        let (ending, memory) = child.wait()
        var end =
            switch ending {
            case .exited(let status): "the plugin's process exited with status \(status)"
            case .signal(name: "SIGXCPU"): usedTooMuchTime
            case .signal(let name): "the plugin's process was ended by \(name)"
            }
        end += Self.hint(memory, of: limits)
        state.withLock { if $0.end == nil { $0.end = end } }
        receiver.processEnded()
        state.withLock { $0.hasEnded = true }
        bell.ring()
    }

    /// An allocation that fails is often a plugin's end, in one way or another.
    private static func hint(_ memory: ClosedRange<UInt64>, of limits: PluginLimits) -> String {
        let limit = UInt64(clamping: limits.memory)
        let (near, text) = (limit / 10 * 9, "limits.memory (\(Readable.size(limit)))")
        if memory.lowerBound > near { return ", after it had used \(Readable.size(memory.upperBound)) of \(text)" }
        return memory.upperBound > near ? ", perhaps for want of memory: it may use \(text)" : ""
    }

    /// - Returns: false if no request waits for a reply.
    private func take(_ reply: Reply) -> Bool {
        let isExpected = state.withLock { state in
            guard state.isWaiting, state.reply == nil else { return false }
            state.reply = reply
            return true
        }
        bell.ring()
        return isExpected
    }

    /// What the plugin writes to its standard error goes to the log, line by line. What it prints, the receiver gets.
    private func readOutput() {
        var lines = ErrorLines()
        while let (stream, piece) = child.read([.errors, .output]) {
            guard stream == .errors else {
                // Each piece may wait for a reader of the daemon's output, and a pipe can hold many.
                if end == nil { receiver.reporting.prints(piece) }
                continue
            }
            for line in lines.take(piece) { receiver.reporting.writesError(line) }
        }
        if let rest = lines.finish() { receiver.reporting.writesError(rest) }
    }

    // MARK: - Bytes

    /// The bytes of a struct without pointers.
    package static func bytes<Value: BitwiseCopyable>(of value: Value) -> [UInt8] {
        unsafe withUnsafeBytes(of: value) { unsafe Array($0) }
    }

    /// - Precondition: the bytes hold the value.
    package static func value<Value: BitwiseCopyable>(of bytes: [UInt8], at offset: Int, as type: Value.Type) -> Value {
        precondition(offset >= 0 && bytes.count - offset >= MemoryLayout<Value>.size, "a value outside of its message")
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }
}
