import Control
import Foundation
import TestSupport
import Testing

/// The page in a browser, with a real daemon.
@Suite(.serialized) struct PageTests {
    private static let twoWays = """
        routes:
          - { name: everything, to: [archive] }
          - { name: orders, where: event = "Order", transforms: [ { drop: [properties.debug] } ], to: [sales] }
        destinations:
          archive: { file: archive.ndjson }
          sales: { file: sales.ndjson }
        """

    private func send(_ daemon: TestDaemon, _ lines: String...) throws {
        let before = try daemon.status().sources["apps"]?.accepted ?? 0
        try EventClient(daemon).send(lines.joined(separator: "\n") + "\n")
        try eventually("the events are stored") {
            try daemon.status().sources["apps"]?.accepted ?? 0 >= before + UInt64(lines.count)
        }
    }

    private static func order(_ more: String = "") -> String {
        #"{"type":"track","event":"Order","userId":"ada","messageId":"m1","properties":{"total":12345678901234567890,"debug":1\#(more)}}"#
    }

    @Test func `it loads from the daemon alone, without an error, and shows the destinations`() throws {
        let daemon = try TestDaemon.withPage(configuration: Self.twoWays)
        try daemon.start()
        let browser = try Browser(daemon.pageAddress())
        try browser.wait(for: "archive", in: "main table")
        try browser.wait(for: "up", in: "main table")
        try browser.wait(for: "live", in: "#connection")
        #expect(!(try browser.evaluate("location.href") as? String ?? "").contains("token"))
        for view in ["2", "3", "4", "5", "6", "1"] {
            try browser.press(view)
            try browser.wait(until: "document.querySelector('main h1')")
        }
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
        let url = try daemon.pageURL()
        #expect(
            browser.requested.count > 3 && browser.requested.allSatisfy { $0.hasPrefix(url) || $0.hasPrefix("data:") })
        #expect(!browser.requested.contains { $0.dropFirst(url.count).contains("token") && !$0.contains("#") })
        #expect(daemon.terminate() == 0)
    }

    @Test func `without a token it asks for one, and with it continues`() throws {
        let daemon = try TestDaemon.withPage()
        try daemon.start()
        let browser = try Browser(daemon.pageURL())
        try browser.wait(for: "This page needs a token")
        try browser.wait(until: "document.activeElement.id === 'token'")
        try browser.type("nonsense")
        try browser.press("Enter")
        try browser.wait(for: "A token has 64 characters")
        try browser.type(try daemon.pageAddress())
        try browser.press("Enter")
        try browser.wait(for: "archive", in: "main table")
        #expect(daemon.terminate() == 0)
    }

    @Test func `events appear as they pass, and one shows its journey`() throws {
        let daemon = try TestDaemon.withPage(configuration: Self.twoWays)
        try daemon.start()
        let browser = try Browser(daemon.pageAddress() + "")
        try browser.wait(for: "archive", in: "main table")
        try browser.press("2")
        try eventually("the debugger listens") { try daemon.taps == 1 }
        try send(daemon, Self.order(), #"{"type":"page","name":"Home","userId":"grace"}"#)
        try browser.wait(for: "Order", in: ".stream")
        try browser.wait(for: "Home", in: ".stream")

        // The newest is the first. By keyboard alone.
        try browser.press("j", "j", "Enter")
        try browser.wait(for: "Journey of Order", in: ".journey")
        try browser.wait(for: "everything", in: ".journey")
        let journey = try browser.evaluate("document.querySelector('.journey').textContent") as? String ?? ""
        for part in [
            "gets it", "Route orders takes the event", #"event = "Order""#, "drop", "changes the event", "sales.ndjson",
        ] {
            #expect(journey.contains(part), "\(part): \(journey)")
        }
        #expect(journey.contains("12345678901234567890"), "numbers are shown as they were sent")
        #expect(try browser.count(".journey .graph .node.taken") == 5, "the event, two routes and two destinations")
        try browser.press("Escape")
        try browser.wait(until: "!document.querySelector('.journey')")

        // The other event does not reach sales.
        try browser.press("k", "Enter")
        try browser.wait(for: "Journey of Home", in: ".journey")
        try browser.wait(for: "no route selects it", in: ".journey")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a filter selects events, and its fault has a caret`() throws {
        let daemon = try TestDaemon.withPage(configuration: Self.twoWays)
        try daemon.start()
        let browser = try Browser(daemon.pageAddress())
        try browser.wait(for: "archive", in: "main table")
        try browser.press("2")
        try browser.wait(for: "Debugger", in: "main")
        try browser.press("/")
        try browser.type(#"event = "Order" an"#)
        try browser.wait(for: "^~", in: ".toolbar .fault")
        #expect(
            try browser.text(of: ".toolbar .fault").contains("\n" + String(repeating: " ", count: 16) + "^~ unexpected")
        )
        #expect(try browser.evaluate("document.activeElement.getAttribute('aria-invalid')") as? String == "true")
        try browser.type("d true")
        try browser.wait(until: "document.querySelector('.toolbar .fault').textContent === ''")
        try eventually("the filter is in use") { try daemon.taps == 1 }
        // The tap with the filter has replaced the first one.
        try browser.wait(until: "document.activeElement.getAttribute('aria-invalid') === 'false'")
        try eventually("a selected event appears") {
            try send(daemon, Self.order(), #"{"type":"page","name":"Home","userId":"grace"}"#)
            return try browser.text(of: ".stream").contains("Order")
        }
        try browser.clickButton("Clear")
        try send(daemon, #"{"type":"page","name":"Home","userId":"grace"}"#, Self.order())
        try browser.wait(for: "Order", in: ".stream")
        #expect(!(try browser.text(of: ".stream").contains("Home")))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a hostile event is shown as text`() throws {
        let daemon = try TestDaemon.withPage(
            configuration: Self.twoWays, sources: "{ apps: { socket: events.sock, max_event_size: 64KiB } }")
        try daemon.start()
        let browser = try Browser(daemon.pageAddress())
        try browser.wait(for: "archive", in: "main table")
        try browser.press("2")
        try eventually("the debugger listens") { try daemon.taps == 1 }
        let markup = #"<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"#
        let long = String(repeating: "<b>A</b>", count: 4096)
        try send(
            daemon,
            #"{"type":"track","event":"\#(markup)","userId":"\u202Egnp.exe\u0000\u001B[31m","properties":{"__proto__":{"x":1},"event":"\",\"event\":","long":"\#(long)"}}"#
        )
        try browser.wait(for: "<img src=x onerror", in: ".stream")
        let row = try browser.text(of: ".stream")
        #expect(row.contains(#"\u{202e}gnp.exe\u{0}\u{1b}[31m"#), "\(row)")
        try browser.click(".event")
        try browser.wait(for: "Journey of <img src=x onerror", in: ".journey")
        try browser.wait(for: #""long": "<b>A</b><b>A</b>"#, in: ".journey")
        #expect(try browser.count("main img, main script, main b b") == 0)
        #expect(try browser.evaluate("document.title") as? String == "Debugger · Penstock")

        // What the policy forbids, also if a mistake in the script put it into the document.
        let injected =
            try browser.evaluate(
                """
                (() => {
                  const script = document.createElement("script");
                  try { script.text = "document.title = 'owned'"; document.body.append(script); } catch { return "refused"; }
                  return document.title;
                })()
                """) as? String
        #expect(injected == "refused")
        let markupSet = try browser.evaluate(
            "(() => { try { document.body.insertAdjacentHTML('beforeend', '<i>x</i>'); return 'set'; } catch { return 'refused'; } })()"
        )
        #expect(markupSet as? String == "refused")
        let elsewhere = try browser.evaluate("fetch('http://127.0.0.1:1/').then(() => 'sent', (error) => error.name)")
        #expect(elsewhere as? String == "TypeError")
        #expect(try browser.evaluate("document.title") as? String == "Debugger · Penstock")
        #expect(daemon.terminate() == 0)
    }

    @Test func `dead letters are retried and dropped`() throws {
        let receiver = try HTTPReceiver()
        receiver.server.change(to: [.status(400, body: "no such field")])
        let daemon = try TestDaemon.withPage(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations: { collector: { http: "\(receiver.url)", format: single, batch: { wait: 0s } } }
                """)
        try daemon.start()
        try EventClient(daemon).send(events(0..<5))
        func letters() throws -> UInt64? { try daemon.status().destinations["collector"]?.deadLetters?.letters }
        try eventually("5 dead letters") { try letters() == 5 }
        let browser = try Browser(daemon.pageAddress())
        try browser.wait(for: "collector", in: "main table")
        try browser.press("4")
        try browser.wait(for: "HTTP 400", in: "main table")
        try browser.wait(for: "no such field", in: "main table")
        #expect(try browser.count("tbody tr") == 5)
        try browser.clickButton("Journey")
        try browser.wait(for: "gets it", in: ".journey")

        // Two of them, which the service takes now.
        receiver.server.change(to: [.status(200)])
        try browser.click("tbody tr:nth-child(1) input")
        try browser.click("tbody tr:nth-child(3) input")
        try browser.clickButton("Retry 2 selected")
        try browser.wait(for: "2 dead letters will be sent to collector again.")
        try eventually("3 dead letters are left") { try letters() == 3 }

        try browser.clickButton("Drop all")
        try browser.wait(for: "This cannot be undone.", in: "dialog")
        try browser.clickButton("Cancel")
        try browser.wait(until: "!document.querySelector('dialog')")
        #expect(try letters() == 3)
        try browser.clickButton("Drop all")
        try browser.click("dialog button.danger")
        try browser.wait(for: "3 dead letters dropped.")
        try browser.wait(for: "No dead letters. Nothing was lost.")
        #expect(try letters() == 0)
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a replay is counted and started`() throws {
        let daemon = try TestDaemon.withPage()
        try daemon.start()
        try EventClient(daemon).send(events(0..<30))
        try daemon.settle(accepted: 30)
        let browser = try Browser(daemon.pageAddress())
        try browser.wait(for: "archive", in: "main table")
        try browser.press("5")
        try browser.clickButton("Count first")
        try browser.wait(for: "30 would be delivered")
        try browser.evaluate("document.querySelector('button.main').click()")
        try browser.wait(for: "Start the replay?", in: "dialog")
        try browser.click("dialog button.danger")
        try browser.wait(for: "done", in: ".lanes")
        #expect(daemon.lines("archive.ndjson").count == 60)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a filter counts from the moment it is typed, and a faulty one does nothing`() throws {
        let receiver = try HTTPReceiver([.status(400)])
        let daemon = try TestDaemon.withPage(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations: { collector: { http: "\(receiver.url)", format: single, batch: { wait: 0s } } }
                """)
        try daemon.start()
        try EventClient(daemon).send(events(0..<5) + Self.order() + "\n")
        func letters() throws -> UInt64? { try daemon.status().destinations["collector"]?.deadLetters?.letters }
        try eventually("6 dead letters") { try letters() == 6 }
        let browser = try Browser(daemon.pageAddress())
        try browser.wait(for: "collector", in: "main table")
        // No time passes between the last letter and the click.
        func click(_ text: String?, after filter: String) throws {
            try browser.evaluate(
                """
                (() => {
                  const input = document.querySelector(".filter input");
                  input.value = '\(filter)';
                  input.dispatchEvent(new Event("input"));
                  const name = '\(text ?? "")';
                  const buttons = [...document.querySelectorAll("button")];
                  if (name) buttons.find((one) => one.innerText.startsWith(name)).click();
                })()
                """)
        }
        try browser.press("5")
        try browser.wait(for: "collector", in: "main .form")
        try click("Count first", after: #"event = "Order""#)
        try browser.wait(for: "1 would be delivered, 5 left out")
        for button in ["Count first", "Replay"] {
            try click(button, after: #"event = "Order" an"#)
            try browser.wait(for: "^~", in: ".filter .fault")
            #expect(try browser.count("dialog") == 0)
            #expect(!(try browser.text(of: "main").contains("would be")))
            try click(nil, after: "")
            try browser.wait(until: "document.querySelector('.filter .fault').textContent === ''")
        }

        try browser.press("4")
        try browser.wait(until: "document.querySelectorAll('tbody tr').length === 6")
        try click("Drop all", after: #"event = "Order" an"#)
        try browser.wait(for: "^~", in: ".filter .fault")
        #expect(try browser.count("dialog") == 0)
        try click("Drop all", after: #"event = "Order""#)
        try browser.click("dialog button.danger")
        try browser.wait(for: "1 dead letter dropped.")
        #expect(try letters() == 5)
        #expect(daemon.terminate() == 0)
    }

    @Test func `the configuration shows what differs on disk`() throws {
        let daemon = try TestDaemon.withPage(configuration: Self.twoWays)
        try daemon.start()
        let browser = try Browser(daemon.pageAddress())
        try browser.wait(for: "archive", in: "main table")
        try browser.press("6")
        try browser.wait(for: "The files on disk are the running configuration.")
        try browser.wait(for: "everything", in: ".lines")
        let text = try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)
        try text.replacing("name: orders", with: "name: sales orders").write(
            toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
        try browser.clickButton("Compare again")
        try browser.wait(for: "1 file on disk differs")
        #expect(try browser.text(of: ".lines .removed").contains("name: orders"))
        #expect(try browser.text(of: ".lines .added").contains("name: sales orders"))
        try browser.press("3")
        try browser.wait(until: "document.querySelectorAll('.graph .node').length === 5")
        #expect(daemon.terminate() == 0)
    }

    @Test func `the keyboard reaches everything, and the theme can be chosen`() throws {
        let daemon = try TestDaemon.withPage(configuration: Self.twoWays)
        try daemon.start()
        let browser = try Browser(daemon.pageAddress())
        try browser.wait(for: "archive", in: "main table")
        try browser.press("Tab")
        #expect(try browser.evaluate("document.activeElement.className") as? String == "skip")
        var reached: Set<String> = []
        for _ in 0..<12 {
            try browser.press("Tab")
            reached.insert(
                try browser.evaluate("document.activeElement.innerText.split('\\n')[0].trim()") as? String ?? "")
            // After the last element, the focus is in the browser's own parts.
            let outline = try browser.evaluate(
                "document.activeElement === document.body ? 'solid' : getComputedStyle(document.activeElement).outlineStyle"
            )
            #expect(outline as? String == "solid", "the focus is visible: \(reached)")
        }
        #expect(
            reached.isSuperset(of: [
                "Overview", "Debugger", "Routing", "Dead letters", "Replay", "Configuration", "By reason",
            ]))
        try browser.press("?")
        try browser.wait(for: "Pause or continue the debugger", in: "dialog")
        try browser.press("Escape")
        try browser.wait(until: "!document.querySelector('dialog')")
        try browser.press("t", "t")
        #expect(try browser.evaluate("document.documentElement.dataset.theme") as? String == "dark")
        // Every element that can be used has a name.
        for view in 1...6 {
            try browser.press("\(view)")
            try browser.wait(until: "document.querySelector('main h1')")
            let nameless = try browser.evaluate(
                """
                [...document.querySelectorAll("button, a, input, select, [role=listbox], [role=img]")].filter((one) =>
                  !one.innerText?.trim() && !one.getAttribute("aria-label") && !(one.labels?.length > 0)
                  && !one.querySelector("title")).map((one) => one.outerHTML.slice(0, 200))
                """)
            #expect((nameless as? [String])?.isEmpty == true, "\(nameless ?? "")")
        }
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
        #expect(daemon.terminate() == 0)
    }
}
