import Foundation
import Hashing
import Testing

@testable import Page

/// The document that the daemon serves.
@Suite struct PageTests {
    private let html = String(decoding: PageDocument.shipped.html, as: UTF8.self)

    private func content(of tag: String) throws -> String {
        let parts = html.components(separatedBy: "<\(tag)>")
        try #require(parts.count == 2, "there is one <\(tag)>")
        return try #require(parts[1].components(separatedBy: "</\(tag)>").first)
    }

    @Test(arguments: ["script", "style"])
    func `the policy allows exactly the document's own script and style`(_ tag: String) throws {
        let bytes = Array(try content(of: tag).utf8)
        let hash = Digest(key: nil).hash(bytes.span)
        let text = "'sha256-" + Data(hash.indices.map { hash[$0] }).base64EncodedString() + "'"
        #expect(PageDocument.shipped.policy.contains("\(tag)-src \(text);"))
        for directive in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"]
        {
            #expect(PageDocument.shipped.policy.contains(directive))
        }
        #expect(!PageDocument.shipped.policy.contains("unsafe") && !PageDocument.shipped.policy.contains("*"))
    }

    @Test func `nothing comes from elsewhere`() throws {
        let known = ["http://www.w3.org/2000/svg"]
        for match in html.matches(of: #/(https?:)?\/\/[a-z0-9.]+[a-z]\/?[^\s"')]*/#) {
            let text = String(match.output.0)
            if text.hasPrefix("http") { #expect(known.contains { text.hasPrefix($0) }, "\(text)") }
        }
        #expect(!html.contains("@import") && !html.contains("url(") && !html.contains("<link rel=\"stylesheet\""))
    }

    @Test(arguments: [
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "createContextualFragment",
        "eval(", "new Function", "setAttribute(\"style\"", "javascript:", "XMLHttpRequest", "console.",
    ])
    func `the script makes no markup of text`(_ word: String) throws {
        #expect(!(try content(of: "script")).contains(word))
    }

    @Test func `the document is small enough to appear at once`() {
        #expect(PageDocument.shipped.html.count < 160_000)
    }
}

/// The contrast of the page's colours (WCAG 2.2, 1.4.3 and 1.4.11).
@Suite struct ContrastTests {
    /// The colours of a theme, by their names.
    private func colours(_ selector: String) throws -> [String: UInt32] {
        let text = String(decoding: PageDocument.shipped.html, as: UTF8.self)
        let block = try #require(text.components(separatedBy: "\n\(selector) {").dropFirst().first)
        let body = try #require(block.components(separatedBy: "\n}").first)
        var colours: [String: UInt32] = [:]
        for match in body.matches(of: #/--([a-z0-9-]+): #([0-9a-f]{6});/#) {
            colours[String(match.output.1)] = UInt32(match.output.2, radix: 16)
        }
        return colours
    }

    private func luminance(_ colour: UInt32) -> Double {
        func channel(_ shift: UInt32) -> Double {
            let value = Double(colour >> shift & 0xFF) / 255
            return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0)
    }

    private func contrast(_ a: UInt32, _ b: UInt32) -> Double {
        let (low, high) = (min(luminance(a), luminance(b)), max(luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)
    }

    private static let light = ":root"
    private static let dark = ":root[data-theme=\"dark\"]"

    @Test func `the measure is that of WCAG`() {
        #expect(contrast(0x000000, 0xFFFFFF) == 21)
        #expect(abs(contrast(0x777777, 0xFFFFFF) - 4.48) < 0.01)
    }

    @Test(arguments: [light, dark])
    func `text has a contrast of at least 4,5 to 1`(_ theme: String) throws {
        let colours = try colours(theme)
        var pairs: [(String, String)] = [("on-accent", "accent"), ("accent", "accent-soft")]
        for ground in ["ground", "surface", "raised"] {
            for text in ["text", "muted", "accent", "good", "warn", "bad", "info"] { pairs.append((text, ground)) }
        }
        for tone in ["good", "warn", "bad", "info"] {
            for text in [tone, "text"] { pairs.append((text, "\(tone)-soft")) }
        }
        // A comparison of two texts, and the chosen event.
        for text in ["info", "muted", "text"] {
            for ground in ["good-soft", "bad-soft", "accent-soft"] { pairs.append((text, ground)) }
        }
        for (text, ground) in pairs {
            let found = contrast(try #require(colours[text]), try #require(colours[ground]))
            #expect(found >= 4.5, "\(text) on \(ground): \(found)")
        }
    }

    @Test(arguments: [light, dark])
    func `edges and areas that mean something have a contrast of at least 3 to 1`(_ theme: String) throws {
        let colours = try colours(theme)
        for name in ["edge", "accent", "good", "warn", "bad"] + (1...6).map({ "series-\($0)" }) {
            let found = contrast(try #require(colours[name]), try #require(colours["surface"]))
            #expect(found >= 3, "\(name): \(found)")
        }
    }

    @Test func `both themes have the same colours`() throws {
        #expect(try Set(colours(Self.light).keys) == Set(colours(Self.dark).keys))
    }
}
