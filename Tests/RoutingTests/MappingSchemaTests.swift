import Events
import Testing

@testable import Routing

@Suite("The schema of mappings")
struct MappingSchemaTests {
    @Test
    func `the schema is JSON and describes every directive with its arguments`() throws {
        var json: [UInt8] = []
        Mapping.schema.append(to: &json)
        #expect(JSONDocument(json, maximumDepth: 64) != nil)
        let text = String(decoding: json, as: UTF8.self)
        for directive in Directive.all {
            #expect(text.contains("\"required\":[\"\(directive.name)\"],\"properties\":{\"\(directive.name)\":"))
            guard case .arguments(let arguments, _) = directive.form else { continue }
            for argument in arguments { #expect(text.contains("\"\(argument.name)\":{")) }
        }
        #expect(text.contains(#""operator":{"enum":["lower","upper"],"description":"lower or upper"}"#))
        #expect(text.contains(#""required":["pattern","value"],"additionalProperties":false"#))
    }
}
