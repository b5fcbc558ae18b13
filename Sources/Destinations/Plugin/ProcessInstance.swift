import CPenstockPlugin
import CPluginChannel
import Platform
import PluginHosting
import Synchronization
import Telemetry

/// One instance of a plugin, in a process of its own. Batches are written once, into memory that the process can only
/// read. Use by one thread at a time.
final class ProcessInstance: PluginEndpoint {
    /// A place for one batch.
    private struct Slot {
        var memory: SharedMemory
        /// Where the process has mapped it.
        var address: UInt
        /// The batch in it; 0: free.
        var token: UInt64
    }

    /// The smallest memory of a slot.
    private static let least = 64 << 10

    let description: PluginDescription
    let maximumInFlight: Int
    let maximumBatchEvents: Int
    let maximumBatchBytes: Int

    let keepsPosition: Bool
    private let process: PluginProcess
    private let host: PluginHost
    private let clock: any Clock
    /// How long a call of the plugin may take.
    private let limit: Duration

    private var slots: [Slot] = []
    /// The distance between two events of a batch. A newer host's is larger.
    var eventStride = unsafe MemoryLayout<penstock_event>.stride

    /// Starts the process, loads the plugin in it and calls its `create`.
    init(
        _ file: consuming PluginFile, _ options: PluginDestinationOptions, _ host: PluginHost, _ clock: any Clock
    ) throws(PluginError) {
        let path = file.path
        let process: PluginProcess
        do throws(PluginError) {
            process = try PluginProcess(
                file.descriptor, program: options.hostProgram, name: options.destination,
                sendTimeout: options.deadline, limits: options.limits, receiver: host, clock)
        } catch  where error.code == .notStarted {
            throw PluginError(.notStarted, "\(error), or set isolation: none")
        }
        if options.limits.processors != nil {
            host.onTick { [weak process] now in process?.renewBudget(now) }
        }
        host.onOverdue { [weak process] in
            process?.terminate("the plugin did not settle a batch before its deadline")
        }
        do throws(PluginError) {
            description = try PluginDescription(loadedBy: process, path, within: options.deadline, clock)
            let schema = try description.settings(as: .sink)
            let settings = try schema.checked(options.settings, from: options.directory)
            let paths = try schema.paths(in: settings).map(\.path)
            let texts = ([options.destination, options.journal, settings] + paths).map { Array($0.utf8) + [0] }
            let sizes = texts.map { UInt32(clamping: $0.count) }
            let head = plugin_create(
                log_level: Int32(clamping: options.logLevel.rawValue), destination_size: sizes[0],
                journal_size: sizes[1], settings_size: sizes[2], paths_size: sizes[3...].reduce(0, +))
            let reply = try process.request(
                PLUGIN_CREATE, PluginProcess.bytes(of: head) + texts.joined(), within: options.deadline, clock)
            switch reply.status {
            case PENSTOCK_OK: break
            case PLUGIN_INCOMPATIBLE:
                throw PluginError(
                    .incompatible,
                    reply.text.isEmpty
                        ? "\(path) leaves out deliver, stop or destroy: all three are required"
                        : "the plugin \(description.name) has an invalid \(PENSTOCK_POSITION): set struct_size and "
                            + "durable"
                )
            default:
                throw PluginError(
                    .failed, "cannot create an instance of the plugin \(description.name): \(reply.reason)")
            }
            // A slot for each batch, and one for an offer that the plugin is too busy for.
            maximumInFlight = min(PluginInstance.limit(reply.values.0), Int(PLUGIN_CHANNEL_SLOTS) - 1)
            maximumBatchEvents = PluginInstance.limit(reply.values.1)
            maximumBatchBytes = PluginInstance.limit(reply.values.2)
            keepsPosition = reply.values.3 != 0
        } catch {
            process.close()
            throw error
        }
        self.process = process
        self.host = host
        self.clock = clock
        limit = options.deadline
    }

    deinit { process.close() }

    var end: String? { process.end }

    /// Calls the plugin's entry function again, with other versions.
    func probeEntry() throws(PluginError) {
        let reply = try process.request(PLUGIN_PROBE, within: limit, clock)
        guard reply.status == PENSTOCK_OK else { throw PluginError(.incompatible, reply.reason) }
    }

    func connect() throws(PluginError) {
        let reply = try process.request(PLUGIN_CONNECT, within: limit, clock)
        guard reply.status == PENSTOCK_OK else {
            throw PluginError(.failed, "the plugin \(description.name) cannot connect: \(reply.reason)")
        }
    }

    func deliver(_ batch: PluginBatch, token: UInt64, deadline: Instant) -> PluginAnswer {
        do throws(PluginError) {
            let index = try slot(for: batch.sharedSize(stride: eventStride))
            slots[index].token = token
            let address = slots[index].address
            let (first, last) = unsafe slots[index].memory.withBytes {
                unsafe batch.write(into: $0, mappedAt: address, stride: eventStride)
            }
            let message = plugin_deliver(
                slot: UInt32(index), count: UInt32(clamping: batch.count),
                stride: UInt32(eventStride), flags: batch.flags,
                deadline_ns: deadline.nanoseconds,
                first_position: first, last_position: last)
            // The watch of the deadline is first, unless the plugin has settled the batch and does not return.
            let reply = try process.request(
                PLUGIN_DELIVER, token: token, PluginProcess.bytes(of: message), within: limit + .seconds(1), clock)
            switch reply.status {
            case PENSTOCK_OK:
                batch.release()
                return .taken
            case PENSTOCK_BUSY:
                slots[index].token = 0
                return .busy
            default:
                slots[index].token = 0
                return .failed(reply.reason)
            }
        } catch {
            return .failed(error.description)
        }
    }

    func flush() throws(PluginError) {
        let reply = try process.request(PLUGIN_FLUSH, within: limit, clock)
        guard reply.status == PENSTOCK_OK else {
            throw PluginError(.failed, "the plugin \(description.name) cannot flush: \(reply.reason)")
        }
    }

    func durablePosition() throws(PluginError) -> UInt64? {
        guard keepsPosition else { return nil }
        let reply = try process.request(PLUGIN_DURABLE, within: limit, clock)
        switch reply.status {
        case PENSTOCK_OK where reply.values.0 < .max: return reply.values.0
        case PENSTOCK_OK:
            throw PluginError(
                .failed, "the plugin \(description.name) reports a position that no journal can reach")
        case PENSTOCK_NONE: return nil
        default:
            throw PluginError(.failed, "the plugin \(description.name) cannot read its position: \(reply.reason)")
        }
    }

    func stop() { _ = try? process.request(PLUGIN_STOP, within: limit, clock) }

    func destroy() {
        try? destroyInstance()
        process.close()
    }

    /// The plugin's `destroy`. The process lives on.
    func destroyInstance() throws(PluginError) { _ = try process.request(PLUGIN_DESTROY, within: limit, clock) }

    /// A free slot with at least `size` bytes.
    private func slot(for size: Int) throws(PluginError) -> Int {
        for index in slots.indices where slots[index].token != 0 && !host.holds(slots[index].token) {
            slots[index].token = 0
        }
        if let index = slots.firstIndex(where: { $0.token == 0 && $0.memory.size >= size }) { return index }
        let free = slots.firstIndex { $0.token == 0 }
        let index = free ?? slots.count
        guard index < Int(PLUGIN_CHANNEL_SLOTS) else {
            throw PluginError(.failed, "the plugin holds \(slots.count) batches and gets no more")
        }
        var wanted = Self.least
        while wanted < size { wanted *= 2 }
        let memory: SharedMemory
        do throws(SystemError) {
            memory = try SharedMemory(size: wanted)
        } catch {
            throw PluginError(.failed, "cannot share memory with the plugin's process: \(error)")
        }
        let message = plugin_map(slot: UInt32(index), reserved: 0, size: UInt64(memory.size))
        let reply = try process.request(
            PLUGIN_MAP, PluginProcess.bytes(of: message), descriptor: memory.descriptor, within: limit, clock)
        guard reply.status == PENSTOCK_OK, let address = UInt(exactly: reply.values.0), address > 0 else {
            throw PluginError(.failed, "the plugin's process cannot map memory: \(reply.reason)")
        }
        let slot = Slot(memory: memory, address: address, token: 0)
        if free != nil { slots[index] = slot } else { slots.append(slot) }
        return index
    }
}
