public final class Application: Sendable {
    public func get<Result>(_ path: String, use handle: @escaping @Sendable (Request) async throws -> Result) {}
    public init() {}
}

public protocol Middleware: Sendable {}

public protocol Authenticatable {}

public final class Request: Sendable {
    public struct Authentication: Sendable {
        public func get<User: Authenticatable>(_ type: User.Type) -> User? { nil }
    }

    public struct Cookies: Sendable {
        public struct Value: Sendable {
            public var string: String
        }

        public subscript(name: String) -> Value? { nil }
    }

    public var auth: Authentication { Authentication() }
    public var cookies: Cookies { Cookies() }
}
