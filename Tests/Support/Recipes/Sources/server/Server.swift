import Foundation
import Hummingbird
import Penstock

/// The context of an application's requests.
nonisolated struct ShopContext: AnalyticsContext {
    var coreContext: CoreRequestContextStorage
    var userID: String?
    var events: Analytics?

    init(source: ApplicationRequestContextSource) { coreContext = CoreRequestContextStorage(source: source) }
}

/// Takes the user from the query. An application has an authenticator here.
struct UserMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: ShopContext, next: (Request, ShopContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.userID = request.uri.queryParameters.get("user")
        return try await next(request, context)
    }
}

/// Prints its port, which the system chooses, and serves requests until SIGTERM.
func serve(with analytics: Analytics) async throws {
    let router = Router(context: ShopContext.self)
    router.add(middleware: UserMiddleware())
    router.add(middleware: AnalyticsMiddleware(analytics: analytics))
    router.get("report") { _, context in
        context.events?.track("Report Opened")
        return "opened\n"
    }
    let application = Application(
        router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        services: [AnalyticsService(analytics: analytics)],
        onServerRunning: { channel in
            FileHandle.standardOutput.write(Data("\(channel.localAddress?.port ?? 0)\n".utf8))
        })
    try await application.runService()
}
