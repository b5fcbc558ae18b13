import Foundation
import Testing

/// Whether every view can be read in a narrow window and in both themes (WCAG 2.2, 1.4.3 and 1.4.10, level AA).
@Suite(.serialized) struct PageReadabilityTests {
    /// What is wider than the page and does not scroll in a box of its own.
    private static let wideElements = """
        (() => {
          const width = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= width) return [];
          const scrolls = (one) => one !== document.body && one !== document.documentElement
            && ["auto", "hidden", "clip", "scroll"].includes(getComputedStyle(one).overflowX);
          const isBoxed = (one) => one !== null && (scrolls(one) || isBoxed(one.parentElement));
          return [`the page: ${document.documentElement.scrollWidth} of ${width} px`].concat(
            [...document.querySelectorAll("body *")]
              .filter((one) => one.getBoundingClientRect().right > width && !isBoxed(one.parentElement))
              .map((one) => `${one.tagName} ${one.className}: ${one.textContent.trim().slice(0, 60)}`));
        })()
        """

    @Test func `a window of 320 pixels needs no scrolling to the side`() throws {
        let scenes = try PageScenes()
        try scenes.browser.resize(width: 320, height: 640)
        try scenes.visit { scene in
            #expect(try scenes.browser.evaluate("window.innerWidth") as? Int == 320, "\(scene)")
            let wide = try scenes.browser.evaluate(Self.wideElements) as? [String]
            #expect(wide == [], "\(scene)")
            // A missing token is an answer of 401, which the browser reports.
            #expect(scene == "token" || scenes.browser.complaints.isEmpty, "\(scene): \(scenes.browser.complaints)")
        }
        #expect(scenes.daemon.terminate() == 0)
    }

    /// Computes the contrast of all text that is visible with what is painted below it: the backgrounds and the opacity
    /// of all elements around it, and the box of a node of a graph. Texts of disabled controls are exempt.
    private static let contrasts = """
        (() => {
          const clear = { r: 0, g: 0, b: 0, a: 0 };
          function colour(text) {
            if (text === "none") return clear;
            const parts = /^rgba?\\(([^)]*)\\)$/.exec(text);
            if (!parts) throw new Error(`unknown colour: ${text}`);
            const [r, g, b, a = 1] = parts[1].split(/[ ,\\/]+/).map(Number);
            return { r, g, b, a };
          }
          function over(top, under, opacity = 1) {
            const share = top.a * opacity;
            const mixed = (channel) => top[channel] * share + under[channel] * (1 - share);
            return { r: mixed("r"), g: mixed("g"), b: mixed("b"), a: 1 };
          }
          function ground(element) {
            if (element instanceof SVGElement) {
              const box = element.tagName === "g" ? element.querySelector(":scope > rect") : null;
              return box ? colour(getComputedStyle(box).fill) : clear;
            }
            const style = getComputedStyle(element);
            if (style.backgroundImage !== "none") throw new Error("a text is on a picture");
            return colour(style.backgroundColor);
          }
          function painted(element, ink) {
            const around = [];
            for (let one = element; one; one = one.parentElement) around.unshift(one);
            const paint = (index, under) => {
              if (index === around.length) return ink ? over(ink, under) : under;
              const inner = paint(index + 1, over(ground(around[index]), under));
              return over(inner, under, Number(getComputedStyle(around[index]).opacity));
            };
            return paint(0, { r: 255, g: 255, b: 255, a: 1 });
          }
          function luminance(one) {
            const [r, g, b] = [one.r, one.g, one.b].map((value) => value / 255)
              .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          }
          function isShown(element) {
            if (!element.checkVisibility({ visibilityProperty: true })) return false;
            if (element.closest("option, .unseen, :disabled")) return false;
            const box = element.getBoundingClientRect();
            return box.width > 0 && box.height > 0 && box.right > 0;
          }

          const texts = [];
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const { data, parentElement } = walker.currentNode;
            if (data.trim() !== "") texts.push([parentElement, null, data.trim()]);
          }
          for (const control of document.querySelectorAll("input:not([type=checkbox]), select")) {
            const isEmpty = control.value === "" && control.placeholder;
            texts.push([control, isEmpty ? "::placeholder" : null, control.value || control.placeholder || control.type]);
          }
          for (const element of document.querySelectorAll("body *")) {
            for (const part of ["::before", "::after"]) {
              const text = /^"(.+)"$/.exec(getComputedStyle(element, part).content);
              if (text) texts.push([element, part, text[1]]);
            }
          }

          const shown = texts.filter(([element]) => isShown(element));
          const faults = shown.flatMap(([element, part, text]) => {
            const style = getComputedStyle(element, part);
            const ink = colour(element instanceof SVGElement ? style.fill : style.color);
            const [size, weight] = [parseFloat(style.fontSize), Number(style.fontWeight)];
            const isLarge = !(element instanceof SVGElement) && (size >= 24 || size >= 18.66 && weight >= 700);
            const [a, b] = [luminance(painted(element, ink)), luminance(painted(element, null))];
            const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            return contrast >= (isLarge ? 3 : 4.5) ? []
              : [`${contrast.toFixed(2)} ${element.tagName} ${element.getAttribute("class")}: ${text.slice(0, 60)}`];
          });
          return { texts: shown.length, faults };
        })()
        """

    private func faults(_ browser: Browser, atLeast texts: Int = 15) throws -> [String] {
        let found = try browser.evaluate(Self.contrasts) as? [String: Any]
        #expect(found?["texts"] as? Int ?? 0 >= texts)
        return try #require(found?["faults"] as? [String])
    }

    @Test func `all visible text has enough contrast with what is below it, in both themes`() throws {
        let scenes = try PageScenes()
        let browser = scenes.browser
        try scenes.visit { scene in
            for theme in ["light", "dark"] {
                try browser.evaluate("document.documentElement.dataset.theme = '\(theme)'")
                let found = try faults(browser)
                #expect(found == [], "\(scene), \(theme)")
            }
        }
        // The measure notices a colour that is too faint, and what makes a colour fainter.
        try browser.evaluate("document.documentElement.dataset.theme = 'light'")
        for (property, value) in [("--muted", "#8a9490"), ("--bad", "#f0a09a"), ("opacity", "0.5")] {
            try browser.evaluate("document.documentElement.style.setProperty('\(property)', '\(value)')")
            #expect(try !faults(browser).isEmpty, "\(property)")
            try browser.evaluate("document.documentElement.style.removeProperty('\(property)')")
        }
        #expect(try faults(browser) == [])
        #expect(scenes.daemon.terminate() == 0)
    }
}
