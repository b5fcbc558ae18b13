import Glibc
import Platform

/// The command line's arguments.
struct Arguments {
    static let usage = """
        usage: simulate [--seeds N] [--first SEED] [--seconds N] [--threads N] [--trace] [--without PROTECTION]
               simulate --mutations [--seeds N] [--seconds N] [--threads N]
               simulate --fleet [--seeds N] [--first SEED] [--seconds N] [--trace] [--without RULE | --mutations]

        Runs the worlds of N seeds and the regression seeds. If an invariant is violated, prints the command
        that repeats the run, and exits with 1.

        --seconds    start no new world after N seconds
        --trace      print every step
        --without    remove a protection from the journal
        --mutations  remove one protection at a time and find a seed that detects it: the known seed, or one
                     of N; exit with 1 if no seed does
        --fleet      fleets of edges, a broker and aggregators, and the rules of what they do with one another
        """

    var seeds = 1000
    var first: UInt64 = 1
    var seconds = Int.max
    var threads = 2
    var traces = false
    var mutations = false
    var fleet = false
    var mutation: String?

    /// The time after which no world starts, counted from now.
    var deadline: Instant {
        seconds == .max ? Instant(nanoseconds: .max) : SystemClock().now() + .seconds(seconds)
    }

    /// nil: the arguments are invalid.
    init?(_ words: some Sequence<String>) {
        var words = words.makeIterator()
        while let word = words.next() {
            switch word {
            case "--trace": traces = true
            case "--mutations": mutations = true
            case "--fleet": fleet = true
            case "--without":
                guard let name = words.next() else { return nil }
                mutation = name
            case "--seeds", "--first", "--seconds", "--threads":
                guard let text = words.next(), let number = Int(text), number >= 0 else { return nil }
                switch word {
                case "--seeds": seeds = number
                case "--first": first = UInt64(number)
                case "--seconds": seconds = number
                default: threads = max(1, number)
                }
            default: return nil
            }
        }
    }
}

enum Exit {
    static func usage() -> Never {
        print(Arguments.usage)
        exit(2)
    }

    static func failed() -> Never { exit(1) }
}
