/// One source, whatever its type: what the C functions call.
class SourceInstance {
    func connect() throws {}
    func start(_ lanes: [Lane]) throws {}
    func ready() {}
    func durable(_ offer: DurableOffer) {}
    func stop() {}
    func end() {}
}

final class TypedSourceInstance<S: Source>: SourceInstance {
    private let source: S

    init(_ source: S) { self.source = source }

    override func connect() throws { try source.connect() }
    override func start(_ lanes: [Lane]) throws { try source.start(lanes) }
    override func ready() { source.ready() }
    override func durable(_ offer: DurableOffer) { source.durable(offer) }
    override func stop() { source.stop() }
    override func end() { source.end() }
}
