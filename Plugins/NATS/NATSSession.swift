import CNats
import PenstockPluginKit

/// One connection of a source, and what is open on it. Any thread.
final class NATSSession: Sendable {
    let connection: NATSConnection
    let jetStream: JetStream
    let stream: JetStream.StreamFacts

    /// - Parameter onLost: called on a thread of the library's.
    /// - Throws: an error for the operator, if the source cannot read the stream.
    init(_ settings: NATSSourceSettings, name: String, onLost: @escaping @Sendable (String) -> Void) throws {
        connection = try NATSConnection(
            settings.connection, name: "penstock \(name)",
            NATSConnection.Handlers(onReply: { _, _ in }, onClosed: onLost))
        do {
            jetStream = try JetStream(connection, timeout: settings.connection.timeout)
            stream = try NATSConsumer.check(settings.stream, try Self.read(settings.stream, jetStream))
        } catch {
            connection.close()
            throw error
        }
    }

    /// Called once, when no other thread uses the session.
    func close() { connection.close() }

    /// Acknowledges messages. An error means that the connection is lost: then the consumer is created again.
    func acknowledge(_ replies: [String]) {
        for reply in replies {
            guard unsafe natsConnection_PublishString(connection.handle, reply, "+ACK") == NATS_OK else { return }
        }
    }

    /// Acknowledges a message again, and waits until the server has processed this and all earlier acknowledgements.
    func acknowledgeNow(_ reply: String, timeout: Int64) {
        var answer: OpaquePointer?
        unsafe natsConnection_RequestString(&answer, connection.handle, reply, "+ACK", timeout)
        unsafe natsMsg_Destroy(answer)
    }

    private static func read(_ stream: String, _ jetStream: JetStream) throws -> JetStream.StreamFacts? {
        do {
            return try jetStream.stream(stream)
        } catch {
            throw error.with("the stream \(stream) cannot be read; is JetStream enabled?")
        }
    }
}
