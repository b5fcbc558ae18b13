import Glibc
import Platform

/// What the command line asks for.
struct Arguments {
    static let usage = """
        usage: simulate [--seeds N] [--first SEED] [--seconds N] [--threads N] [--trace] [--without PROTECTION]
               simulate --mutations [--seeds N] [--seconds N] [--threads N]

        Runs the worlds of N seeds, and the regression seeds; exits 1 if an invariant is broken, with the
        command that repeats it. --seconds: no new world begins after so long. --trace: says what happens.
        --without: takes a protection out of the journal. --mutations: takes out each, and finds a seed
        that notices: the one that is known, or one among N; exits 1 if there is none.
        """

    var seeds = 1000
    var first: UInt64 = 1
    var seconds = Int.max
    var threads = 2
    var traces = false
    var mutations = false
    var mutation: String?

    /// When the last world may begin, counted from now.
    var deadline: Instant {
        seconds == .max ? Instant(nanoseconds: .max) : SystemClock().now() + .seconds(seconds)
    }

    /// nil: it makes no sense.
    init?(_ words: some Sequence<String>) {
        var words = words.makeIterator()
        while let word = words.next() {
            switch word {
            case "--trace": traces = true
            case "--mutations": mutations = true
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
