// journal-benchmark: measures the journal alone and prints one line of JSON. The script `journal`, next to
// this folder, runs it alternately with the machine's own limit (limit.c).
//
// Each command works in a directory that the caller makes and removes. Events have 570 bytes.

import Glibc
import Journal
import Platform
import Telemetry

@main
struct JournalBenchmark {
    private static let usage = """
        usage: journal-benchmark append DIRECTORY PRODUCERS BATCH_BYTES MIB flood|step
               journal-benchmark latency DIRECTORY EVENTS_PER_SECOND SECONDS
               journal-benchmark fill DIRECTORY SEGMENT_BYTES MIB
               journal-benchmark recover DIRECTORY SEGMENT_BYTES
               journal-benchmark read DIRECTORY SEGMENT_BYTES READERS
               journal-benchmark allocations DIRECTORY

        """

    static func main() throws {
        var words = CommandLine.arguments.dropFirst()
        let command = words.popFirst()
        guard let directory = words.popFirst() else { fail(usage) }
        let place = Place(directory: directory)
        let numbers = words.compactMap { Int($0) }
        switch (command, numbers.count) {
        case ("append", 3):
            try append(
                place, producers: numbers[0], batch: numbers[1], mebibytes: numbers[2], steps: words.last == "step")
        case ("latency", 2): try measureLatency(place, rate: numbers[0], seconds: numbers[1])
        case ("fill", 2): try fill(place.with(segmentSize: numbers[0]), mebibytes: numbers[1])
        case ("recover", 1): try recover(place.with(segmentSize: numbers[0]))
        case ("read", 2): try read(place.with(segmentSize: numbers[0]), readers: numbers[1])
        case ("allocations", 0): try countAllocations(place)
        default: fail(usage)
        }
    }

    static func fail(_ message: String) -> Never {
        _ = unsafe write(2, message, message.utf8.count)
        exit(2)
    }
}

/// A journal's directory and options.
struct Place {
    struct Log: LogSink {
        func write(_ level: Level, _ line: String) { print("journal-benchmark: \(line)") }
    }

    let directory: String
    var options = JournalOptions()

    init(directory: String) {
        self.directory = directory
        options.retainSize = 1 << 40
    }

    func with(segmentSize: Int) -> Place {
        var place = self
        place.options.segmentSize = segmentSize
        return place
    }

    func open() throws(JournalError) -> Journal {
        try Journal.open(
            directory: directory, options: options, disk: SystemDisk(), clock: SystemClock(),
            telemetry: Telemetry(sink: Log(), minimum: .warning, now: { SystemClock().now().nanoseconds }))
    }
}

/// The CPU seconds that this process has used.
func cpuSeconds() -> Double {
    var usage = rusage()
    _ = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(
        usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
}

extension Duration {
    var seconds: Double { Double(inNanoseconds) / 1e9 }
}
