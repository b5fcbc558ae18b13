public protocol Service: Sendable {
    func run() async throws
}

public func gracefulShutdown() async throws {}
