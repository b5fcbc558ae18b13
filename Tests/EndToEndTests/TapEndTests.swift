import Control
import Foundation
import TestSupport
import Testing

/// How `penstock tap` is refused, and how it ends.
@Suite struct TapEndTests {
    private static let archive = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    @Test func `a tap that cannot be is refused with the reason`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        #expect(try daemon.penstock("tap").status == 2, "not running")
        try daemon.start()
        let unknown = try daemon.penstock("tap", "--destination", "archiv")
        #expect(unknown.status == 1)
        #expect(unknown.errors.contains("there is no destination \"archiv\"; there are: archive"), "\(unknown.errors)")
        let filter = try daemon.penstock("tap", "--where", "event = ")
        #expect(filter.status == 1 && filter.output == "")
        #expect(filter.errors.contains("--where:1:") && filter.errors.contains("^"), "\(filter.errors)")
        #expect(try daemon.penstock("tap", "--limit", "0").status == 64)
        #expect(try daemon.penstock("tap", "--stage", "stored").status == 64)
        #expect(try daemon.penstock("tap", "--stage", "accepted", "--destination", "archive").status == 64)
        // The daemon does not trust its clients either.
        for (query, says) in [
            (["where": "event = "], "--where: "),
            (["stage": "stored"], "the stages are accepted, routed, sent, refused"),
            (["limit": "-1"], "limit=-1 is not a whole number above 0"), (["stage": ""], "names no stage"),
            (["limit": "99999999999999999999"], "is not a whole number"),
        ] {
            let answer = try ControlClient(socket: daemon.control).get("/tap", query: query)
            #expect(answer.status == 400 && answer.error.contains(says), "\(query): \(answer)")
        }
        #expect(try ControlClient(socket: daemon.control).post("/tap").status == 405)
        #expect(daemon.terminate() == 0)
    }

    @Test(.enabled(if: getuid() == 0, "another user is needed"))
    func `only who may open the control socket may tap`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let denied = try Program.run(
            "setpriv",
            [
                "--reuid", "65534", "--regid", "65534", "--clear-groups", TestDaemon.binaries + "/penstock", "tap",
                "--control", daemon.control,
            ])
        #expect(denied.status == 3 && denied.output == "")
        #expect(denied.errors.contains("permission denied: only user "), "\(denied.errors)")
        #expect(try daemon.taps == 0)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a pipe that closes ends the command quietly, even if no event passes`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let pipe = Pipe()
        let tap = try TapProcess(daemon, into: pipe)
        try pipe.fileHandleForWriting.close()
        try pipe.fileHandleForReading.close()
        #expect(try tap.end() == 0)
        #expect(tap.errorText == "")
        try eventually("the daemon has noticed") { try daemon.taps == 0 }
        #expect(daemon.terminate() == 0)
    }

    @Test func `the number of taps is bounded, and a killed client makes room`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let taps = try (0..<8).map { number in
            number % 2 == 0 ? try TapProcess(daemon, "--refused") : try TapProcess(daemon, "--stage", "sent")
        }
        let ninth = try daemon.penstock("tap", "--limit", "1")
        #expect(ninth.status == 1)
        #expect(ninth.errors.contains("8 taps run already"), "\(ninth.errors)")
        taps[0].signal(SIGKILL)
        try eventually("the daemon has noticed") { try daemon.taps == 7 }
        _ = try TapProcess(daemon)
        #expect(try daemon.penstock("status").status == 0)
        for tap in taps.dropFirst() {
            tap.signal(SIGINT)
            #expect(try tap.end() == 0)
        }
        try eventually("no tap runs") { try daemon.taps == 0 }
        #expect(daemon.terminate() == 0)
    }

    @Test func `a daemon that stops or is killed ends the command with its status`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let tap = try TapProcess(daemon, "--refused", "--stage", "accepted")
        #expect(daemon.terminate() == 0)
        #expect(try tap.end() == 2)
        #expect(tap.errorText == "penstockd has ended the tap: the daemon is stopping\n", "\(tap.errorText)")

        try daemon.start()
        let other = try TapProcess(daemon)
        daemon.kill9()
        #expect(try other.end() == 2)
        #expect(other.errorText.contains("the connection ended before the answer was complete"), "\(other.errorText)")
    }
}
