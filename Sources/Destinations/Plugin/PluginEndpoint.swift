import Platform
import PluginHosting

/// One instance of a plugin, in this process or in one of its own. Use by one thread at a time; every call may block.
protocol PluginEndpoint: AnyObject {
    var description: PluginDescription { get }
    /// Whether it stores the position with its data (`penstock.position/1`).
    var keepsPosition: Bool { get }
    var maximumInFlight: Int { get }
    var maximumBatchEvents: Int { get }
    var maximumBatchBytes: Int { get }

    /// Why no call can succeed any more: the plugin's process has ended. Nil: it lives.
    var end: String? { get }

    func connect() throws(PluginError)
    /// The memory of `batch` must stay valid as the contract requires.
    func deliver(_ batch: PluginBatch, token: UInt64, deadline: Instant) -> PluginAnswer
    func flush() throws(PluginError)
    /// The last position that the plugin holds durably; nil if it has none or doesn't keep positions.
    func durablePosition() throws(PluginError) -> UInt64?
    /// The last call before `destroy`. After it no code of the plugin runs.
    func stop()
    /// The last call.
    func destroy()
}

/// A plugin's answer to an offered batch.
enum PluginAnswer: Equatable {
    case taken
    case busy
    case failed(String)
}
