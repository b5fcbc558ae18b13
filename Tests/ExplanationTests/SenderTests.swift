import Platform
import DaemonConfiguration
import Explanation
import Testing

@Suite("The sender in explanations and tests")
struct SenderTests {
    private static let shop = """
        sources: { apps: { socket: /run/s }, web: { socket: /run/w } }
        routes:
          - { name: mine, where: context.penstock.peer.user = "www-data" and context.penstock.source = "web", to: [out] }
        destinations:
          out: { file: /d/out, mapping: { by: $.context.penstock.peer, through: $.context.penstock.source } }
        """

    private static let event = #"{"type":"track","event":"x","userId":"u","context":{"penstock":{"peer":{"uid":0}}}}"#

    @Test func `an explanation shows the sender, and what filters and mappings read of it`() throws {
        let peer = TestPeer(uid: 33, gid: 34, pid: 7, user: "www-data")
        let explainer = EventExplainer(try configuration(Self.shop), source: "web", from: peer)
        let explanation = explainer.explain(Array(Self.event.utf8), position: 0, receivedAt: morning)
        let text = ExplanationText(ANSIStyle(isOn: false)).render(explanation)
        #expect(text.contains("· source web · uid 33 (www-data), gid 34, pid 7\n"))
        #expect(text.contains(#"{"by":{"uid":33,"gid":34,"pid":7,"user":"www-data"},"through":"web"}"#))
        #expect(
            explanation.json.text.contains(
                #""source":"web","peer":{"uid":33,"gid":34,"pid":7,"user":"www-data"}"#))
    }

    @Test func `without a sender, the explanation says which fields are missing`() throws {
        let explainer = EventExplainer(try configuration(Self.shop), source: "web")
        let explanation = explainer.explain(Array(Self.event.utf8), position: 0, receivedAt: morning)
        let text = ExplanationText(ANSIStyle(isOn: false)).render(explanation)
        #expect(text.contains("context.penstock.peer.user is missing"))
        #expect(!explanation.json.text.contains(#""peer":{"uid":33"#) && !text.contains("uid 0"))
    }

    /// The failures of a test file.
    private func failures(_ text: String) throws -> [String] {
        let file = try #require(TestFileResult.load(text: text, named: "t.yaml").file)
        return TestReport(file, under: try configuration(Self.shop)).outcomes.flatMap(\.failures).map(\.summary)
    }

    @Test func `a test names the sender of its events`() throws {
        #expect(
            try failures(
                """
                tests:
                  - from: { source: web, uid: 33, gid: 34, user: www-data, pid: 7 }
                    event: { type: track, event: x, userId: u }
                    expect: { out: { event: { by: { uid: 33, gid: 34, pid: 7, user: www-data }, through: web } } }
                  - from: { uid: 33, user: www-data }
                    source: web
                    event: { type: track, event: x, userId: u }
                    expect: { out: { event: { by: { uid: 33, gid: 33, pid: 0 } } } }
                  - { from: { uid: 33, user: www-data }, event: { type: track, event: x, userId: u }, expect: { out: nothing } }
                  - { from: { source: web, uid: 33 }, event: { type: track, event: x, userId: u }, expect: { out: nothing } }
                  - { from: { source: web }, event: { type: track, event: x, userId: u }, expect: { out: nothing } }
                """) == [])
        #expect(
            try failures(
                """
                tests:
                  - from: { source: web, uid: 34, user: www-data }
                    event: { type: track, event: x, userId: u }
                    expect: { out: { event: { by: { uid: 33 } } } }
                """) != [])
    }

    @Test(arguments: [
        ("from: { user: www-data }", #""from" has no uid, so the sender is not known"#),
        ("from: { uid: 4294967295 }", "uid"), ("from: { uid: -1 }", "uid"),
        ("from: { pid: 2147483648, uid: 1 }", "pid"),
        ("from: { source: web }, source: apps", "source is given twice, here and in from"),
        ("from: { source: webb }", #"there is no source "webb" in the configuration"#),
        ("from: { uid: 99999999999999999999 }", "99999999999999999999"), ("from: { name: a, uid: 1 }", "name"),
    ])
    func `a sender that cannot be is an error`(_ sender: String, _ message: String) throws {
        let text = "tests: [ { \(sender), event: { type: track }, refused: too_large } ]"
        let problems = TestFileResult.load(text: text, named: "t.yaml").diagnostics(in: try configuration(Self.shop))
        #expect(problems.count == 1 && problems[0].message.contains(message), "\(problems)")
    }

    @Test func `ids at the end of their types are valid`() throws {
        #expect(
            try failures(
                """
                tests:
                  - from: { source: web, uid: 4294967294, gid: 4294967294, pid: 2147483647, user: www-data }
                    event: { type: track, event: x, userId: u }
                    expect: { out: { event: { by: { uid: 4294967294, gid: 4294967294, pid: 2147483647 } } } }
                """) == [])
    }
}
