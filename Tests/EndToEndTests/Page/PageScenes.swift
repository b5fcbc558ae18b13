import Control
import Foundation
import TestSupport

/// Every view of the page, filled: with events, faults, dead letters, a destination that is down, a replay, a changed
/// configuration, and open dialogs.
final class PageScenes {
    let daemon: TestDaemon
    let browser: Browser
    private let service: HTTPReceiver

    private static let configuration = """
        routes:
          - { name: everything, to: [archive] }
          - { name: orders, where: event = "Order", transforms: [ { drop: [properties.debug] } ], to: [crm, mail] }
        destinations:
          archive: { file: archive.ndjson }
          crm: { http: "SERVICE", format: single, batch: { wait: 0s } }
          mail: { http: "http://127.0.0.1:1/in", batch: { wait: 0s }, retry: { initial: 5m, max: 5m } }
        """
    /// A name without spaces, longer than a narrow window.
    private static let longName = String(repeating: "Subscription", count: 8)
    private static let order =
        #"{"type":"track","event":"Order","userId":"u-1","properties":{"total":9,"paid":true,"debug":"x"}}"#

    init() throws {
        service = try HTTPReceiver([.status(422, body: #"{"error":"no such field: \"paid\""}"#)])
        let daemon = try TestDaemon.withPage(configuration: Self.configuration.replacing("SERVICE", with: service.url))
        self.daemon = daemon
        try daemon.start()
        try Self.send(daemon)
        try eventually("dead letters") { try daemon.status().destinations["crm"]?.deadLetters?.letters ?? 0 > 0 }
        browser = try Browser(daemon.pageAddress())
        try browser.wait(for: "archive", in: "main table")
    }

    private static func send(_ daemon: TestDaemon) throws {
        try EventClient(daemon).send(
            """
            \(order)
            {"type":"track","event":"\(longName)","userId":"u-2"}
            not JSON

            """)
    }

    /// Shows one after another, and calls `check` with the name of each.
    func visit(_ check: (String) throws -> Void) throws {
        try visitDebugger(check)
        try browser.press("3")
        try browser.wait(until: "document.querySelectorAll('.graph .node').length > 4")
        try check("routing")
        try visitDeadLetters(check)
        try visitReplay(check)
        try visitConfiguration(check)

        try browser.press("1")
        // The chart needs a history of 20 seconds.
        try browser.wait(until: "document.querySelector('.chart')")
        try browser.wait(for: "retrying", in: "main table")
        try check("overview")
        try browser.clickButton("By reason")
        try browser.wait(for: "dead letters", in: ".legend")
        try check("overview by reason")
        try browser.press("?")
        try browser.wait(for: "Pause or continue", in: "dialog")
        try check("keys")

        try browser.evaluate("sessionStorage.clear()")
        try browser.reload()
        try browser.wait(for: "This page needs a token")
        try browser.type("nonsense")
        try browser.press("Enter")
        try browser.wait(for: "A token has 64 characters")
        try check("token")
    }

    private func visitDebugger(_ check: (String) throws -> Void) throws {
        try browser.press("2")
        try eventually("the debugger listens") { try daemon.taps == 1 }
        for stage in ["routed", "sent"] { try browser.clickButton(stage) }
        try eventually("the debugger shows every stage") {
            try Self.send(daemon)
            return try ["accepted", "routed", "sent", "refused"].allSatisfy {
                try browser.text(of: ".stream").contains($0)
            }
        }
        try browser.press("/")
        try browser.type(#"event = "Order" an"#)
        try browser.wait(for: "^~", in: ".toolbar .fault")
        try browser.press("Escape", "p")
        try check("debugger")
        for (stage, event) in [("accepted", "Order"), ("accepted", Self.longName), ("sent", "Order")] {
            try browser.evaluate(
                """
                [...document.querySelectorAll(".event")].find((row) => row.children[1].innerText === "\(stage)"
                  && row.children[3].innerText === "\(event)").click()
                """)
            try browser.wait(for: "Journey of \(event)", in: ".journey")
            try browser.wait(until: "document.querySelector('.journey .graph')")
            try browser.evaluate("for (const one of document.querySelectorAll('.journey details')) one.open = true")
            try check("journey of \(stage) \(event.prefix(12))")
        }
    }

    private func visitDeadLetters(_ check: (String) throws -> Void) throws {
        try browser.press("4")
        try browser.wait(for: "HTTP 422", in: "main table")
        try browser.click("tbody tr:nth-child(1) input")
        try check("dead letters")
        try browser.clickButton("Journey")
        try browser.wait(until: "document.querySelector('.journey .graph')")
        try check("dead letters with a journey")
        try browser.press("Escape")
        try browser.clickButton("Drop 1 selected")
        try browser.wait(for: "This cannot be undone.", in: "dialog")
        try check("confirmation")
        try browser.clickButton("Cancel")
        try browser.wait(until: "!document.querySelector('dialog')")
    }

    private func visitReplay(_ check: (String) throws -> Void) throws {
        try browser.press("5")
        try browser.clickButton("Count first")
        try browser.wait(for: "would be delivered")
        try browser.evaluate("document.querySelector('button.main').click()")
        try browser.click("dialog button.danger")
        try browser.wait(for: "done", in: ".lanes")
        try browser.evaluate(
            """
            (() => {
              const since = document.getElementById("since");
              since.value = "";
              since.dispatchEvent(new Event("change"));
            })()
            """)
        try browser.press("Escape")
        try check("replay")
    }

    private func visitConfiguration(_ check: (String) throws -> Void) throws {
        let text = try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)
        func write(_ text: String) throws {
            try text.write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
        }
        try write(
            text.replacing(#"where: event = "Order""#, with: #"where: event = "Refund""#)
                .replacing("to: [archive]", with: "to: [archive], transforms: [ { set: { properties.kind: new } } ]"))
        try browser.press("6")
        try browser.wait(for: "1 file on disk differs")
        try check("configuration")
        try browser.clickButton("What would a reload change?")
        try browser.wait(for: "A reload would change 3 of 3 destinations.")
        try check("comparison")
        try write(text.replacing("to: [archive]", with: "to: [archvie]"))
        try browser.clickButton("Compare again")
        try browser.wait(until: "!document.querySelector('.comparison')")
        try browser.clickButton("What would a reload change?")
        try browser.wait(for: "A reload would be refused")
        try check("refused reload")
    }
}
