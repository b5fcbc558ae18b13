import CPenstockPlugin
import CPluginChannel
import Platform
import PluginHosting

/// One instance of a plugin in this process. Calls its C functions as the contract requires. Use by one thread at a
/// time; every call may block for any time.
@safe final class PluginInstance: PluginEndpoint {
    /// The size of the buffer for a plugin's error.
    private static let errorSize = 1024

    let description: PluginDescription
    /// The plugin's limits; its 0, which means no limit, becomes `Int.max`.
    let maximumInFlight: Int
    let maximumBatchEvents: Int
    let maximumBatchBytes: Int

    private let functions: penstock_instance
    private let deliver:
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<penstock_batch>?, UnsafeMutablePointer<CChar>?, Int) ->
            Int32
    private let position: UnsafePointer<penstock_position>?
    private let error: UnsafeMutablePointer<CChar>

    /// Calls the plugin's `create`. The host must outlive the instance.
    init(_ library: PluginLibrary, _ host: PluginHost, _ options: PluginDestinationOptions) throws(PluginError) {
        description = library.description
        let settings = try description.settings(as: .sink).checked(options.settings, from: options.directory)
        let error = UnsafeMutablePointer<CChar>.allocate(capacity: Self.errorSize)
        unsafe error.initialize(repeating: 0, count: Self.errorSize)
        var functions = unsafe penstock_instance()
        unsafe functions.struct_size = UInt32(MemoryLayout<penstock_instance>.size)
        let answer = unsafe library.plugin.table.pointee.create?(
            host.table, settings, &functions, error, Self.errorSize)
        guard answer == PENSTOCK_OK else {
            let reason = unsafe Self.text(error)
            unsafe error.deallocate()
            throw PluginError(.failed, "cannot create an instance of the plugin \(description.name): \(reason)")
        }
        guard let deliver = unsafe functions.deliver, unsafe functions.stop != nil, unsafe functions.destroy != nil
        else {
            unsafe functions.destroy?(functions.context)
            unsafe error.deallocate()
            throw PluginError(
                .incompatible,
                "\(description.path) leaves out deliver, stop or destroy: all three are required"
            )
        }
        let found = unsafe functions.extension?(functions.context, PENSTOCK_POSITION)
        unsafe position = found?.assumingMemoryBound(to: penstock_position.self)
        unsafe self.deliver = deliver
        unsafe self.functions = functions
        unsafe self.error = error
        maximumInFlight = Self.limit(unsafe UInt64(functions.max_in_flight))
        maximumBatchEvents = Self.limit(unsafe UInt64(functions.max_batch_events))
        maximumBatchBytes = Self.limit(unsafe functions.max_batch_bytes)
    }

    deinit { unsafe error.deallocate() }

    func connect() throws(PluginError) {
        guard let connect = unsafe functions.connect else { return }
        clearError()
        guard unsafe connect(functions.context, error, Self.errorSize) == PENSTOCK_OK else {
            throw PluginError(.failed, "the plugin \(description.name) cannot connect: \(lastError)")
        }
    }

    var end: String? { nil }

    var keepsPosition: Bool { unsafe position != nil }

    func deliver(_ batch: PluginBatch, token: UInt64, deadline: Instant) -> PluginAnswer {
        clearError()
        let offered = unsafe batch.offer(token: token, deadline: deadline)
        return switch unsafe deliver(functions.context, offered, error, Self.errorSize) {
        case PENSTOCK_OK: .taken
        case PENSTOCK_BUSY: .busy
        default: .failed(lastError)
        }
    }

    func flush() throws(PluginError) {
        guard let flush = unsafe functions.flush else { return }
        clearError()
        guard unsafe flush(functions.context, error, Self.errorSize) == PENSTOCK_OK else {
            throw PluginError(.failed, "the plugin \(description.name) cannot flush: \(lastError)")
        }
    }

    func durablePosition() throws(PluginError) -> UInt64? {
        guard let position = unsafe position else { return nil }
        guard unsafe position.pointee.struct_size >= PLUGIN_POSITION_SIZE_1_0,
            let durable = unsafe position.pointee.durable
        else {
            throw PluginError(
                .incompatible,
                "the plugin \(description.name) has an invalid \(PENSTOCK_POSITION): set struct_size and durable")
        }
        var value: UInt64 = 0
        clearError()
        switch unsafe durable(functions.context, &value, error, Self.errorSize) {
        case PENSTOCK_OK where value < .max: return value
        case PENSTOCK_OK:
            throw PluginError(.failed, "the plugin \(description.name) reports a position that no journal can reach")
        case PENSTOCK_NONE: return nil
        default: throw PluginError(.failed, "the plugin \(description.name) cannot read its position: \(lastError)")
        }
    }

    func stop() { unsafe functions.stop?(functions.context) }

    func destroy() { unsafe functions.destroy?(functions.context) }

    private func clearError() { unsafe error.pointee = 0 }

    private var lastError: String { unsafe Self.text(error) }

    private static func text(_ error: UnsafeMutablePointer<CChar>) -> String {
        let text = unsafe boundedString(error, errorSize) ?? ""
        return text.isEmpty ? "the plugin gave no reason" : text
    }

    /// A limit of 0 is none.
    static func limit(_ number: UInt64) -> Int { number == 0 ? .max : Int(clamping: number) }
}
