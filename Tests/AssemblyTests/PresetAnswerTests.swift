import Foundation
import TestSupport
import Testing

/// How each preset settles the answers of its service, as the service documents them: `answers.json` beside the
/// preset's other tests.
@Suite struct PresetAnswerTests {
    struct Answer: Decodable, Sendable, CustomTestStringConvertible {
        var preset: String
        /// The preset's required settings.
        var settings: String
        var status: Int
        var body: String
        /// Which of the preset's requests; nil: the last one.
        var request: Int?
        var retryAfter: String?
        var expected: String

        var testDescription: String { "\(preset): \(status) \(body.prefix(60))" }
    }

    private struct Line: Decodable {
        var settings: String?
        var status: Int?
        var body: String?
        var request: Int?
        var retryAfter: String?
        var expected: String?
    }

    private struct Unreadable: Error, CustomStringConvertible { let description: String }

    private static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "ExplanationTests/Presets")

    static let answers: [Answer] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.sorted().flatMap { (try? read($0)) ?? [] }
    }()

    private static func read(_ preset: String) throws -> [Answer] {
        let file = directory.appending(path: "\(preset)/answers.json")
        let lines = try JSONDecoder().decode([Line].self, from: Data(contentsOf: file))
        guard let settings = lines.first?.settings else { throw Unreadable(description: "\(preset): no settings") }
        return try lines.dropFirst().map { line in
            guard let status = line.status, let expected = line.expected else {
                throw Unreadable(description: "\(preset): an answer without status or expected")
            }
            return Answer(
                preset: preset, settings: settings, status: status, body: line.body ?? "", request: line.request,
                retryAfter: line.retryAfter, expected: expected)
        }
    }

    @Test func `every file of answers is readable`() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: Self.directory.path)
        where FileManager.default.fileExists(atPath: Self.directory.appending(path: "\(name)/answers.json").path) {
            #expect(try Self.read(name).count >= 5, "\(name)")
        }
    }

    @Test(arguments: answers) func `a documented answer settles each event`(answer: Answer) throws {
        let keys = "preset: \(answer.preset), \(answer.settings)"
        let response = ServiceResponse(answer.status, answer.body, retryAfter: answer.retryAfter)
        #expect(try response.outcomes(for: keys, request: answer.request) == answer.expected)
    }
}
