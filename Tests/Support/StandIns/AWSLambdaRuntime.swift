public struct LambdaContext: Sendable {
    public var requestID: String { "" }
}

public final class LambdaRuntime<Event: Decodable, Output: Encodable>: Sendable {
    public init(body: @Sendable @escaping (Event, LambdaContext) async throws -> Output) {}
    public func run() async throws {}
}
