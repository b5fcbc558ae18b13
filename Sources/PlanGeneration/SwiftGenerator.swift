import ConfigurationSyntax
import TrackingPlan

/// Generates the Swift code for a plan.
package struct SwiftGenerator {
    /// The result of generating.
    package struct Result: Sendable {
        /// nil if there are errors.
        package var text: String?
        package var diagnostics: [Diagnostic]
    }

    private var text = SwiftText()

    /// - Parameter path: the plan's file.
    package static func generate(from path: String) -> Result {
        let diagnostics = Diagnostics()
        var text: String?
        if let file = ConfigurationFile.read(path, diagnostics), let plan = TrackingPlan.read(file, diagnostics) {
            let code = PlanCode(plan, file: file, diagnostics)
            if !diagnostics.hasErrors {
                var generator = SwiftGenerator()
                generator.write(code)
                text = generator.text.text
            }
        }
        return Result(text: text, diagnostics: diagnostics.ordered(by: [path]))
    }

    // MARK: The file

    private mutating func write(_ code: PlanCode) {
        text.line("// Generated from \(SwiftText.harmless(code.file)) by Penstock. Change the plan, not this file.")
        text.line()
        text.line("import Foundation")
        text.line("import Penstock")
        text.line()
        text.documentation(["The events of this application, as planned in \(SwiftText.harmless(code.file))."])
        text.block("public enum \(code.name)") { text in
            var isFirst = true
            func part(_ write: (inout SwiftText) -> Void) {
                if !isFirst { text.line() }
                isFirst = false
                write(&text)
            }
            for registry in code.registries { part { Self.write(registry, &$0) } }
            for event in code.events { part { Self.write(event.code, as: .event(event.name), &$0) } }
            for (events, kind) in [(code.pages, "page"), (code.screens, "screen")] {
                for event in events { part { Self.write(event.code, as: .named(event.name, kind), &$0) } }
            }
            for traits in [code.userTraits, code.groupTraits] {
                if let traits { part { Self.write(traits, as: .value, &$0) } }
            }
        }
        writeViews(code)
        guard code.allowsAdditional else { return }
        text.line()
        text.line("/// The name of an unplanned property.")
        text.block("private struct PropertyKey: CodingKey") { text in
            text.line("let stringValue: String")
            text.line("var intValue: Int? { nil }")
            text.line("init(stringValue: String) { self.stringValue = stringValue }")
            text.line("init?(intValue: Int) { nil }")
        }
    }

    /// Writes the methods that record pages and screens.
    private mutating func writeViews(_ code: PlanCode) {
        guard !code.pages.isEmpty || !code.screens.isEmpty else { return }
        text.line()
        text.block("extension Analytics") { text in
            var isFirst = true
            for (events, kind) in [(code.pages, "page"), (code.screens, "screen")] {
                for event in events {
                    if !isFirst { text.line() }
                    isFirst = false
                    text.documentation(event.code.documentation)
                    text.availability(event.code.deprecation)
                    let type = "\(code.name).\(event.code.name)"
                    text.call("public func \(kind)(", ["_ \(kind): \(type)"] + Self.callSite, ") {")
                    text.indented { text in
                        text.line("self.\(kind)(\(type).\(kind)Name, \(kind), fileID: _fileID, line: _line)")
                    }
                    text.line("}")
                }
            }
        }
    }

    // MARK: Registries

    private static func write(_ registry: PlanCode.RegistryCode, _ text: inout SwiftText) {
        text.documentation([
            registry.area.map { "The events of \($0): a method for each." } ?? "A method for each event."
        ])
        text.block("public struct \(registry.name): Sendable") { text in
            text.line("private let events: any EventSending")
            text.line()
            text.line("/// - Parameter events: the receiver of the events.")
            text.line("public init(_ events: any EventSending) { self.events = events }")
            for event in registry.events {
                text.line()
                let code = event.code
                let hasOld = code.members.contains(where: \.isLeftOut)
                write(event, code.members.filter { !$0.isLeftOut }, deprecation: code.deprecation, &text)
                guard hasOld else { continue }
                text.line()
                write(event, code.members, deprecation: code.deprecation ?? .some(code.deprecatedParameters), &text)
            }
        }
    }

    private static func write(
        _ event: PlanCode.EventCode, _ members: [StructCode.Member], deprecation: String??, _ text: inout SwiftText
    ) {
        let code = event.code
        text.documentation(code.documentation + parameters(members))
        text.availability(deprecation)
        let type = code.name
        let arguments =
            members.map { "\(SwiftName.label($0.name)): \(SwiftName.quoted($0.name))" }
            + (code.allowsAdditional ? ["additionalProperties: additionalProperties"] : [])
        let list = parameterList(members, of: code, within: type + ".") + callSite
        text.call("public func \(SwiftName.quoted(event.method))(", list, ") {")
        text.indented { text in
            text.call("let _event = \(type)(", arguments, ")")
            text.line("events.track(_event, fileID: _fileID, line: _line)")
        }
        text.line("}")
    }

    /// The place of the application's call, for diagnostics. No member's name begins with `_` and a letter.
    private static let callSite = ["_fileID: StaticString = #fileID", "_line: UInt = #line"]

    // MARK: Structs

    private enum Form {
        case event(String)
        /// A page or a screen: its name and its kind.
        case named(String, String)
        case value
    }

    private static func write(_ code: StructCode, as form: Form, _ text: inout SwiftText) {
        text.documentation(code.documentation)
        text.availability(code.deprecation)
        let protocols = if case .event = form { "AnalyticsEvent" } else { "Encodable" }
        text.block("public struct \(code.name): \(protocols), Hashable, Sendable") { text in
            switch form {
            case .event(let name):
                text.line("public var eventName: String? { \(SwiftText.literal(name)) }")
                text.line()
            case .named(let name, let kind):
                text.line("/// The \(kind)'s name.")
                text.line("public static let \(kind)Name = \(SwiftText.literal(name))")
                text.line()
            case .value: break
            }
            for member in code.members {
                text.documentation(member.documentation)
                if member.isLeftOut { text.availability(member.deprecation) }
                text.line("public var \(SwiftName.quoted(member.name)): \(member.fullType)")
                text.line()
            }
            if code.allowsAdditional {
                text.line("/// Unplanned properties. Planned properties in here are ignored.")
                text.line("public var additionalProperties: [String: PropertyValue]")
                text.line()
            }
            writeInitializers(code, &text)
            writeKeys(code, &text)
            for type in code.enums {
                text.line()
                text.block("public enum \(type.name): String, Encodable, Hashable, Sendable, CaseIterable") { text in
                    for (name, value) in type.cases {
                        text.line(Self.enumCase(name, value))
                    }
                }
            }
            for type in code.structs {
                text.line()
                write(type, as: .value, &text)
            }
        }
    }

    /// Writes a first initializer without deprecated properties, so that it uses nothing deprecated. If there are
    /// deprecated properties, a second initializer takes them too.
    private static func writeInitializers(_ code: StructCode, _ text: inout SwiftText) {
        let current = code.members.filter { !$0.isLeftOut }
        var lists = [(members: current, deprecation: String??.none)]
        if current.count < code.members.count { lists.append((code.members, .some(code.deprecatedParameters))) }
        for (number, (members, deprecation)) in lists.enumerated() {
            if number > 0 { text.line() }
            text.availability(deprecation)
            let list = parameterList(members, of: code, within: "")
            guard !list.isEmpty else {
                text.line("public init() {}")
                continue
            }
            text.call("public init(", list, ") {")
            text.indented { text in
                for member in members { text.line("self.\(member.name) = \(SwiftName.quoted(member.name))") }
                if code.allowsAdditional { text.line("self.additionalProperties = additionalProperties") }
            }
            text.line("}")
        }
    }

    private static func writeKeys(_ code: StructCode, _ text: inout SwiftText) {
        guard !code.members.isEmpty || code.allowsAdditional else { return }
        text.line()
        if !code.members.isEmpty {
            text.block("private enum CodingKeys: String, CodingKey") { text in
                for member in code.members {
                    text.line(enumCase(member.name, member.key))
                }
            }
        }
        guard code.allowsAdditional else { return }
        if !code.members.isEmpty { text.line() }
        text.block("public func encode(to encoder: any Encoder) throws") { text in
            text.line("var additional = encoder.container(keyedBy: PropertyKey.self)")
            let isPlanned = code.members.isEmpty ? "" : " where CodingKeys(stringValue: name) == nil"
            text.block(
                "for (name, value) in additionalProperties.sorted(by: { $0.key < $1.key })\(isPlanned)"
            ) { $0.line("try additional.encode(value, forKey: PropertyKey(stringValue: name))") }
            guard !code.members.isEmpty else { return }
            text.line("var planned = encoder.container(keyedBy: CodingKeys.self)")
            for member in code.members {
                let call = member.isRequired ? "encode" : "encodeIfPresent"
                text.line("try planned.\(call)(self.\(member.name), forKey: .\(member.name))")
            }
        }
    }

    private static func enumCase(_ name: String, _ value: String) -> String {
        "case \(SwiftName.quoted(name))" + (name == value ? "" : " = \(SwiftText.literal(value))")
    }

    // MARK: Parameters

    /// - Parameters:
    ///   - members: optional members get a default value. Deprecated members get none, so that a call with one of them
    ///     differs from a call without.
    ///   - scope: prefix for the names of types that the struct declares.
    private static func parameterList(_ members: [StructCode.Member], of code: StructCode, within scope: String)
        -> [String]
    {
        var list = members.map { member in
            let type = scope.isEmpty ? member.fullType : code.qualified(member.fullType, with: scope)
            return "\(SwiftName.label(member.name)): \(type)" + (member.isRequired || member.isLeftOut ? "" : " = nil")
        }
        if code.allowsAdditional { list.append("additionalProperties: [String: PropertyValue] = [:]") }
        return list
    }

    private static func parameters(_ members: [StructCode.Member]) -> [String] {
        let documented = members.filter { !$0.documentation.isEmpty }
        guard !documented.isEmpty else { return [] }
        let lines = documented.map { member in
            "  - \(member.name): "
                + member.documentation.joined(separator: " ").split(whereSeparator: \.isNewline).joined(separator: " ")
        }
        return ["- Parameters:\n" + lines.joined(separator: "\n")]
    }
}

extension StructCode {
    fileprivate var deprecatedParameters: String? {
        let names = members.filter(\.isLeftOut).map { member in
            "\(member.name) is deprecated" + ((member.deprecation ?? nil).map { ": \($0)" } ?? "")
        }
        return names.joined(separator: "; ")
    }

    /// A member's type, qualified for use outside of this struct.
    fileprivate func qualified(_ type: String, with scope: String) -> String {
        let name = type.filter { $0 != "[" && $0 != "]" && $0 != "?" }
        let isOwn = enums.contains { $0.name == name } || structs.contains { $0.name == name }
        return isOwn ? type.replacing(name, with: scope + name) : type
    }
}

extension StructCode.Member {
    /// Whether the member is deprecated and optional.
    fileprivate var isLeftOut: Bool { deprecation != nil && !isRequired }
}

extension PlanCode {
    fileprivate var allowsAdditional: Bool {
        func allows(_ code: StructCode) -> Bool { code.allowsAdditional || code.structs.contains(where: allows) }
        return (events + pages + screens).contains { allows($0.code) }
            || [userTraits, groupTraits].contains { $0.map(allows) ?? false }
    }
}
