public struct Response: Sendable {}

public struct Cookie: Sendable {
    public var value: String
}

public struct Cookies: Sendable {
    public subscript(name: String) -> Cookie? { nil }
}

public struct Request: Sendable {
    public var cookies: Cookies { Cookies() }
}

public protocol RequestContext: Sendable {}

public protocol RouterMiddleware<Context>: Sendable {
    associatedtype Context

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response
}

public struct Application<Responder> {}
