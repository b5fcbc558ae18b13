import Foundation
import TestSupport
import Testing

/// The SDK's names beside those of other modules that an application imports.
@Suite struct NameTests {
    private static let programs = [
        "Vapor": """
        import Penstock
        import PenstockTesting
        import Testing
        import Vapor

        let application = Application()
        struct Timing: Middleware {}
        func fails(_ expectation: Expectation) -> Bool { !expectation.isPassing }
        let step: Analytics.Middleware = .redact("email")
        var options = Analytics.Options()
        options.application = Analytics.Application(name: "shop")
        let analytics = Analytics(providers: [RecordingProvider()], options: options)
        analytics.use(step)
        let expected: Analytics.Expectation = expect(analytics)
        expected.recordedNothing()
        """,
        "Hummingbird": """
        import Hummingbird
        import Penstock

        func serve(_ application: Application<Int>) {}
        let analytics = Analytics()
        analytics.use(.filter { $0.name != "Heartbeat" })
        """,
    ]

    @Test(arguments: programs.keys.sorted())
    func `a program that imports another module uses both modules' names`(module: String) async throws {
        let directory = try TemporaryDirectory()
        let program = try directory.write("main.swift", try #require(Self.programs[module]))
        let result = try await ProgramResult.run(
            "swiftc",
            [
                "-typecheck", "-swift-version", "6", "-I", Binaries.directory + "/Modules", "-I",
                try await StandIns.path.value, program,
            ])
        #expect(result.status == 0, "\(result.errors)")
    }
}
