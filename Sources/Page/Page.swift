// Page: the daemon's page for a browser, compiled in. The files in this directory are its source as a browser reads it:
// there is no framework, no build step and nothing from elsewhere. They are joined into one document.
//
// Invariants:
//
// - The document holds no data. It asks for all data with a token that the person brings.
// - The browser runs exactly these scripts and styles: the policy names their hashes, so nothing else that reaches the
//   document runs, and it can reach no other server.
// - The scripts never make markup of data. They set text (`textContent`), so an event cannot become a part of the page.

import Foundation
import Hashing

/// The page: one HTML document with its style and its script.
package struct PageDocument: Sendable {
    package let html: [UInt8]
    /// The value of `Content-Security-Policy`.
    package let policy: String

    package static let shipped = PageDocument()

    private init() {
        let style = Self.joined([
            PackageResources.colours_css, PackageResources.layout_css, PackageResources.views_css,
        ])
        // The order of the scripts: each uses only those before it.
        let script = Self.joined([
            PackageResources.elements_js, PackageResources.daemon_js, PackageResources.charts_js,
            PackageResources.difference_js, PackageResources.overview_js, PackageResources.routing_js,
            PackageResources.journey_js, PackageResources.debugger_js, PackageResources.letters_js,
            PackageResources.comparison_js, PackageResources.configuration_js, PackageResources.page_js,
        ])
        let code = "\"use strict\";\n(() => {\n" + script + "})();\n"
        html = Array(
            String(decoding: PackageResources.page_html, as: UTF8.self)
                .replacing("/*STYLE*/", with: style).replacing("/*SCRIPT*/", with: code).utf8)
        policy = """
            default-src 'none'; script-src '\(Self.hash(code))'; style-src '\(Self.hash(style))'; \
            connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
            require-trusted-types-for 'script'; trusted-types 'none'
            """
    }

    private static func joined(_ files: [[UInt8]]) -> String {
        files.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }

    /// A source expression of the policy (CSP 3, section 2.3.1).
    private static func hash(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let hash = Digest(key: nil).hash(bytes.span)
        return "sha256-" + Data(hash.indices.map { hash[$0] }).base64EncodedString()
    }
}
