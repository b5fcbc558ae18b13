import ConfigurationSyntax
import PlanGeneration
import TestSupport
import Testing

/// The Swift text that is generated from a plan. The end-to-end tests are built with such text, so they show
/// that it compiles.
@Suite struct SwiftGeneratorTests {
    private func generate(_ plan: String, named name: String = "shop.yaml") throws -> SwiftGenerator.Result {
        let directory = try TemporaryDirectory()
        return SwiftGenerator.generate(from: try directory.write(name, plan))
    }

    private func text(_ plan: String, named name: String = "shop.yaml") throws -> String {
        let result = try generate(plan, named: name)
        #expect(result.diagnostics == [])
        return try #require(result.text)
    }

    @Test func `the same plan gives the same text whatever its path`() throws {
        let plan = "events: { B: { properties: { z: string, a: { type: string, enum: [x, y] } } }, A: { area: Feed } }"
        let first = try text(plan)
        #expect(try text(plan) == first)
        let b = try #require(first.firstRange(of: "struct B:"))
        let a = try #require(first.firstRange(of: "struct A:"))
        #expect(b.lowerBound < a.lowerBound)
    }

    @Test func `descriptions and limits in the plan become documentation comments`() throws {
        let text = try text(
            """
            events:
              Order Completed:
                description: |
                  Somebody paid.
                  Once for each order.
                deprecated: use "Order Paid"
                properties:
                  total: { type: number, required: true, minimum: 0, maximum: 5, description: In euros. }
                  old_id: { type: string, pattern: ^x, deprecated: true }
            """)
        #expect(
            text.contains(
                #"""
                    /// Somebody paid.
                    /// Once for each order.
                    @available(*, deprecated, message: "use \"Order Paid\"")
                    public struct OrderCompleted: AnalyticsEvent, Hashable, Sendable {
                        public var eventName: String? { "Order Completed" }

                        /// In euros.
                        ///
                        /// From 0 to 5.
                        public var total: Double

                        /// Matches `^x`.
                        @available(*, deprecated)
                        public var oldID: String?
                """#))
        #expect(
            text.contains(
                "public func orderCompleted(total: Double, _fileID: StaticString = #fileID, _line: UInt = #line) {"))
    }

    @Test(arguments: [
        ("events: { Order Done: {}, order_done: {} }", #""order_done" and "Order Done" are both OrderDone in Shop"#),
        (
            "events: { E: { properties: { user_id: string, userId: string } } }",
            #""userId" and "user_id" are both userID in E"#
        ),
        (
            "events: { E: { properties: { p: { type: string, enum: [a-b, a b] } } } }",
            #""a b" and "a-b" are both aB in P"#
        ),
        ("events: { X Registry: {}, Y: { area: x } }", #""x" and "X Registry" are both XRegistry in Shop"#),
        ("events: { some: {}, Some Event: {} }", #""Some Event" and "some" are both someEvent in EventRegistry"#),
        (
            "events: { E: { properties: { tag: { type: string, enum: [a] }, Tag: { type: object, properties: { a: string } } } } }",
            #""Tag" and "tag" are both tag in E"#
        ),
    ])
    func `two names that become the same Swift name are an error that names both places`(
        _ plan: String, _ message: String
    ) throws {
        let result = try generate(plan)
        #expect(result.text == nil)
        #expect(result.diagnostics.map(\.message).first == message)
        #expect(result.diagnostics.first?.note != nil)
    }

    @Test(arguments: [
        ("order_id", "orderID"), ("userID", "userID"), ("URL", "url"), ("class", "`class`"), ("self", "selfValue"),
        ("2nd try", "_2ndTry"), ("größe", "größe"), ("%", "valueU25"), ("HTTPStatus2xx", "httpStatus2xx"),
        ("a.b-c d", "aBCD"),
        ("eventName", "eventNameValue"), ("日本", "日本"), ("in", "`in`"), ("_", "valueU5F"),
    ])
    func `a name in the plan becomes a valid Swift name`(_ name: String, _ member: String) throws {
        let text = try text("events: { E: { properties: { \"\(name)\": boolean } } }")
        #expect(text.contains("public var \(member): Bool?\n"), "\(text)")
    }

    @Test func `text from a plan stays inside its comment or literal`() throws {
        let text = try text(
            #"""
            events:
              "x\" } /* \\(1)":
                description: "a\u2028*/ fatalError()\rb"
                properties: { p: { type: string, enum: ["\"\n\\(x)"] } }
            """#)
        #expect(text.contains(#"public var eventName: String? { "x\" } /* \\(1)" }"#))
        #expect(text.contains(#" = "\"\u{a}\\(x)""#))
        #expect(
            text.split(whereSeparator: \.isNewline).filter { $0.contains("fatalError") }.allSatisfy {
                $0.contains("///")
            })
    }

    @Test func `the generated type is named after the plan or its file`() throws {
        #expect(try text("events: { A: }", named: "my-shop.plan.yaml").contains("public enum MyShop {"))
        #expect(try text("name: The Shop\nevents: { A: }").contains("public enum TheShop {"))
    }
}
