import Control
import Foundation
import TestSupport
import Testing

/// What a reload would change: `POST /diff`, on the page in a browser and as a request.
@Suite(.serialized) struct PageDiffTests {
    private static let plain = """
        routes:
          - { name: everything, to: [archive] }
          - { name: orders, where: 'event in ["Order", "Refund"]', to: [sales] }
        destinations:
          archive: { file: archive.ndjson }
          sales: { file: sales.ndjson }
        """

    private func send(_ daemon: TestDaemon, _ lines: [String]) throws {
        let client = try EventClient(daemon)
        try client.send(lines.joined(separator: "\n") + "\n")
        #expect(try client.acknowledgement(of: lines.count).lines == lines.count)
    }

    private static func event(_ name: String, _ number: Int, _ note: String = "plain") -> String {
        #"{"type":"track","event":"\#(name)","userId":"ada","messageId":"\#(name.prefix(3))\#(number)","#
            + #""properties":{"note":"\#(note)"}}"#
    }

    private func row(_ browser: Browser, _ name: String) throws -> String {
        let rows = try browser.evaluate(
            "[...document.querySelectorAll('.comparison tbody tr')].map((row) => row.innerText)")
        return (rows as? [String])?.first { $0.hasPrefix(name) } ?? ""
    }

    @Test func `the page shows which events a reload would lose, and hostile events as text`() throws {
        let daemon = try TestDaemon.withPage(configuration: Self.plain)
        try daemon.start()
        let markup = #"<img src=x onerror=document.title='owned'><script>document.title='owned'</script>\u202E\u0007"#
        try send(
            daemon,
            (0..<6).map { Self.event("Order", $0) } + (0..<2).map { Self.event("Refund", $0, markup) }
                + (0..<4).map { Self.event("Visit", $0) })
        let browser = try Browser(daemon.pageAddress())
        try browser.wait(for: "archive", in: "main table")
        try browser.press("6")
        try browser.wait(for: "The files on disk are the running configuration.")
        #expect(!(try browser.text().contains("What would a reload change?")))

        try daemon.write(
            configuration: Self.plain.replacing(#"event in ["Order", "Refund"]"#, with: #"event = "Order""#).replacing(
                "to: [archive]", with: "to: [archive], transforms: [ { set: { properties.kind: new } } ]"))
        try browser.clickButton("Compare again")
        try browser.clickButton("What would a reload change?")
        try browser.wait(for: "A reload would change 2 of 2 destinations.")
        try browser.wait(for: "Compared with 12 events of the journal")
        let archive = try row(browser, "archive")
        #expect(archive.contains("changed\t0\t0\t0\t12 · 100 %\t0"), "\(archive)")
        let sales = try row(browser, "sales")
        #expect(sales.contains("changed\t6 · 75 %\t0\t2 · 25 %\t0\t0"), "\(sales)")
        let found = try browser.text(of: ".comparison")
        for part in ["properties.kind added in 12 events", "then: no route selects the event", #""kind": "new""#] {
            #expect(found.contains(part), "\(part): \(found)")
        }
        let lost = try browser.evaluate(
            "[...document.querySelectorAll('.comparison .sample .removed')].map((line) => line.innerText).join('\\n')")
        #expect((lost as? String ?? "").contains("<img src=x onerror=document.title='owned'><script>"), "\(lost ?? "")")
        #expect((lost as? String ?? "").contains(#"\u{202e}"#))
        #expect(try browser.count("main img, main script") == 0)
        #expect(try browser.evaluate("document.title") as? String == "Configuration · Penstock")

        // A result is of the files that it was made from.
        try daemon.write(configuration: Self.plain.replacing("to: [sales]", with: "to: [slaes]"))
        try browser.clickButton("Compare again")
        try browser.wait(until: "!document.querySelector('.comparison')")
        try browser.clickButton("What would a reload change?")
        try browser.wait(for: "A reload would be refused: the files on disk are not valid.")
        try browser.wait(for: "did you mean \"sales\"?")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
        #expect(daemon.lines("sales.ndjson").count == 8, "nothing was sent again")
        #expect(daemon.terminate() == 0)
    }

    @Test func `the request takes a time, a filter and a number of samples, and refuses others`() throws {
        let daemon = try TestDaemon.withPage(configuration: Self.plain)
        try daemon.start()
        try send(daemon, (0..<4).map { Self.event("Order", $0) } + (0..<4).map { Self.event("Refund", $0) })
        func ask(_ body: String) throws -> String { try daemon.askPage("api/diff", "-d", body).output }
        let same = try ask("{}")
        #expect(same.hasSuffix("\n200") && same.contains(#""changes":false"#), "\(same)")

        try daemon.write(
            configuration: Self.plain.replacing(#"event in ["Order", "Refund"]"#, with: #"event = "Order""#))
        #expect(try ask("{}").contains(#""lost":4,"same":4"#))
        #expect(try daemon.askPage("api/diff", "-X", "POST").output.contains(#""lost":4,"same":4"#), "without a body")
        let few = try ask(#"{"where":"messageId = \"Ref1\"","samples":0}"#)
        #expect(few.contains(#""lost":1,"same":0"#) && few.contains(#""samples":[]"#), "\(few)")
        let later = try ask(#"{"from":4102444800000000000}"#)
        #expect(later.contains(#""events":0"#) && later.contains(#""older":0"#), "\(later)")
        for time in [Int64.min, Int64.max] { #expect(try ask(#"{"from":\#(time)}"#).hasSuffix("\n200")) }

        #expect(try ask(#"{"samples":11}"#).contains("samples is 11; it must be from 0 to 10"))
        #expect(try ask(#"{"where":"event = \"x\" an"}"#).hasSuffix("\n400"))
        #expect(try ask("[]").hasSuffix("\n400"))
        #expect(try daemon.askPage("api/diff").output.hasSuffix("\n404"), "GET is not offered")
        let own = try ControlClient(socket: daemon.control).post("/diff")
        #expect(own.isSuccess && String(decoding: own.body, as: UTF8.self).contains(#""lost":4"#))
        #expect(daemon.terminate() == 0)
    }
}
