import Delivery
import Destinations
import Events
import Foundation
import PluginTesting

/// Delivers events as a worker does: several batches in flight, retries in journal order, and a new process for a
/// plugin whose process has ended.
struct SinkDriver {
    let stage: PluginStage
    var batch = 100
    var inFlight = 4
    var limit: TimeInterval = 90
    var event: (UInt64) -> String = PluginStage.event

    struct Result {
        var delivered: Set<UInt64> = []
        var rejected: [UInt64: String] = [:]
        /// The number of outcomes that were neither, and their reasons.
        var retries = 0
        var reasons: Set<String> = []
    }

    /// - Parameter progress: called with the result so far, after each batch.
    func deliver(_ positions: Range<UInt64>, progress: (Result) throws -> Void = { _ in }) throws -> Result {
        var result = Result()
        var waiting = Array(positions)
        var retried: [UInt64] = []
        var flight: [(number: Int, positions: [UInt64])] = []
        let end = Date() + limit
        while !waiting.isEmpty || !flight.isEmpty || !retried.isEmpty {
            guard Date() < end else {
                throw TestProblem(
                    description: "\(waiting.count + retried.count) events are not delivered: \(result.reasons)")
            }
            if stage.destination.failure != nil {
                stage.destination.close()
                retried += flight.flatMap(\.positions)
                flight = []
                _ = try? stage.destination.open(from: Cursor(position: 0))
                continue
            }
            if !retried.isEmpty, flight.isEmpty {
                waiting = retried.sorted() + waiting
                retried = []
                usleep(20_000)
            }
            if retried.isEmpty, flight.count < inFlight, !waiting.isEmpty {
                let next = Array(waiting.prefix(batch))
                waiting.removeFirst(next.count)
                flight.append((stage.offer(PluginStage.batch(next.map { ($0, .track, event($0)) })), next))
            }
            var isSettled = false
            for (number, positions) in flight {
                guard let outcomes = stage.outcomes(number, count: positions.count) else { continue }
                isSettled = true
                flight.removeAll { $0.number == number }
                for (position, outcome) in zip(positions, outcomes) {
                    switch outcome {
                    case .delivered: result.delivered.insert(position)
                    case .rejected(let reason, _): result.rejected[position] = reason
                    default:
                        retried.append(position)
                        result.retries += 1
                        result.reasons.insert("\(outcome)")
                    }
                }
            }
            if isSettled { try progress(result) } else { usleep(500) }
        }
        return result
    }
}

/// A port of 127.0.0.1 that was free a moment ago.
func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = unsafe withUnsafeMutablePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            let bound = unsafe bind(descriptor, address, size)
            return unsafe bound == 0 ? getsockname(descriptor, address, &size) : bound
        }
    }
    guard status == 0 else { throw TestProblem(description: "no free port: errno \(errno)") }
    return UInt16(bigEndian: address.sin_port)
}

/// A second name of the plugin's host program, by which the process of one destination is found.
struct NamedHost {
    let path: String

    init(in directory: PluginTestDirectory) throws {
        path = "\(directory.path)/host"
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: TestCompiler.built("penstock-plugin-host"))
    }

    /// The id of the process.
    func process() throws -> pid_t {
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            let arguments = (try? String(contentsOfFile: "/proc/\(name)/cmdline", encoding: .utf8)) ?? ""
            if let id = pid_t(name), arguments.split(separator: "\0").first == Substring(path) { return id }
        }
        throw TestProblem(description: "no process runs \(path)")
    }
}
