import Foundation
import Platform

/// A headless Chromium with one tab, driven through the DevTools protocol over two pipes. One thread.
final class Browser {
    private let process = Process()
    private let requests = Pipe()
    private let answers = Pipe()
    private let directory: String
    private var unread: [UInt8] = []
    private var number = 0
    private var session: String?
    /// Errors that the page's script or the browser has reported.
    private(set) var complaints: [String] = []
    /// The URLs of all requests.
    private(set) var requested: [String] = []
    /// How many times a page has been loaded.
    private var loads = 0

    /// Opens an address in a new browser.
    init(_ address: String) throws {
        directory = "/tmp/penstock-browser-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        // Chromium reads from descriptor 3 and writes to 4. As root it has no sandbox of its own. Killed, it leaves its
        // temporary files.
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c",
            """
            exec env TMPDIR=\(directory) \
            chromium --headless=new --no-sandbox --disable-gpu --no-first-run --disable-extensions \
            --disable-background-networking --disable-dev-shm-usage --remote-debugging-pipe \
            --user-data-dir=\(directory) about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1
            """,
        ]
        process.standardInput = requests
        process.standardOutput = answers
        try process.run()
        let targets = try send("Target.getTargets")["targetInfos"] as? [[String: Any]] ?? []
        guard let tab = targets.first(where: { $0["type"] as? String == "page" })?["targetId"] as? String else {
            throw Failure("the browser has no tab")
        }
        session = try send("Target.attachToTarget", ["targetId": tab, "flatten": true])["sessionId"] as? String
        for domain in ["Page", "Runtime", "Log", "Network"] { try send("\(domain).enable") }
        try open(address)
    }

    deinit {
        if process.isRunning {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        // Its other processes end when the first one is gone, and may write until then.
        for _ in 0..<200 where FileManager.default.fileExists(atPath: directory) {
            try? FileManager.default.removeItem(atPath: directory)
            usleep(5000)
        }
    }

    /// Opens a page and waits until it is there: what is evaluated in between fails, for its page is gone.
    func open(_ address: String) throws { try load("Page.navigate", ["url": address]) }

    func reload() throws { try load("Page.reload") }

    private func load(_ method: String, _ parameters: [String: Any] = [:]) throws {
        let before = loads
        try send(method, parameters)
        while loads == before { note(try receive()) }
    }

    /// Sets the size of the window, in CSS pixels.
    func resize(width: Int, height: Int) throws {
        try send(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    }

    /// Evaluates an expression, which may be a promise. Its value is JSON.
    @discardableResult
    func evaluate(_ expression: String) throws -> Any? {
        let answer = try send(
            "Runtime.evaluate",
            ["expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true])
        if let details = answer["exceptionDetails"] { throw Failure("\(expression): \(details)") }
        return (answer["result"] as? [String: Any])?["value"]
    }

    /// The text of the page, as a person sees it.
    func text(of selector: String = "body") throws -> String {
        try evaluate("document.querySelector(\(quoted(selector)))?.innerText ?? ''") as? String ?? ""
    }

    func count(_ selector: String) throws -> Int {
        try evaluate("document.querySelectorAll(\(quoted(selector))).length") as? Int ?? -1
    }

    /// Waits until the page shows a text.
    func wait(for text: String, in selector: String = "body") throws {
        do {
            try eventually("the page shows \(text)", within: 120) { try self.text(of: selector).contains(text) }
        } catch {
            throw Failure("\(error): \(try self.text()) \(complaints)")
        }
    }

    func wait(until condition: String) throws {
        do {
            try eventually(condition, within: 120) { try evaluate("Boolean(\(condition))") as? Bool == true }
        } catch {
            throw Failure("\(error): \(try self.text()) \(complaints)")
        }
    }

    func click(_ selector: String) throws {
        try wait(until: "document.querySelector(\(quoted(selector)))")
        try evaluate("document.querySelector(\(quoted(selector))).click()")
    }

    /// Clicks the button with this text.
    func clickButton(_ text: String) throws {
        let button =
            "[...document.querySelectorAll('button')].find((one) => one.innerText.trim().startsWith(\(quoted(text))))"
        try wait(until: "\(button) && !\(button).disabled")
        try evaluate("\(button).click()")
    }

    /// Presses and releases keys, each given by its name: `a`, `Enter`, `Tab`.
    func press(_ keys: String...) throws {
        let codes = ["Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, " ": 32]
        for key in keys {
            var event: [String: Any] = ["key": key, "windowsVirtualKeyCode": codes[key] ?? 0]
            event["text"] = key == "Enter" ? "\r" : key.count == 1 ? key : nil
            try send("Input.dispatchKeyEvent", event.merging(["type": "keyDown"]) { $1 })
            event["text"] = nil
            try send("Input.dispatchKeyEvent", event.merging(["type": "keyUp"]) { $1 })
        }
    }

    func type(_ text: String) throws { try send("Input.insertText", ["text": text]) }

    private func quoted(_ text: String) -> String {
        String(decoding: (try? JSONEncoder().encode(text)) ?? Data(), as: UTF8.self)
    }

    // MARK: The protocol

    @discardableResult
    private func send(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
        number += 1
        var message: [String: Any] = ["id": number, "method": method, "params": parameters]
        message["sessionId"] = session
        try requests.fileHandleForWriting.write(contentsOf: JSONSerialization.data(withJSONObject: message) + [0])
        while true {
            let answer = try receive()
            guard answer["id"] as? Int == number else {
                note(answer)
                continue
            }
            if let error = answer["error"] as? [String: Any] { throw Failure("\(method): \(error["message"] ?? "")") }
            return answer["result"] as? [String: Any] ?? [:]
        }
    }

    private func receive() throws -> [String: Any] {
        while true {
            if let end = unread.firstIndex(of: 0) {
                let message = Data(unread[..<end])
                unread.removeSubrange(...end)
                return try JSONSerialization.jsonObject(with: message) as? [String: Any] ?? [:]
            }
            let data = answers.fileHandleForReading.availableData
            if data.isEmpty { throw Failure("the browser has ended: is chromium installed?") }
            unread += data
        }
    }

    private func note(_ event: [String: Any]) {
        let parameters = event["params"] as? [String: Any] ?? [:]
        switch event["method"] as? String {
        case "Page.loadEventFired": loads += 1
        case "Runtime.exceptionThrown", "Runtime.consoleAPICalled": complaints.append("\(parameters)")
        case "Log.entryAdded":
            let entry = parameters["entry"] as? [String: Any] ?? [:]
            complaints.append("\(entry["text"] ?? "") \(entry["url"] ?? "")")
        case "Network.requestWillBeSent":
            if let url = (parameters["request"] as? [String: Any])?["url"] as? String { requested.append(url) }
        default: break
        }
    }
}
