import Telemetry
import Testing

@Suite struct MetricsTextTests {
    private static let requests = Metric("requests_total", .counter, labels: ["path"], "Requests, \"all\"\nof\\them")

    private func written(_ format: MetricsText.Format, _ write: (inout MetricsText) -> Void) -> String {
        var text = MetricsText(format)
        write(&text)
        return String(decoding: text.finish(), as: UTF8.self)
    }

    @Test func `a counter in both formats, with its label escaped`() {
        func counter(_ format: MetricsText.Format) -> String {
            written(format) {
                $0.declare(Self.requests)
                $0.sample(UInt64.max, "a\\b\"c\nd}é")
            }
        }
        let sample = #"requests_total{path="a\\b\"c\nd}é"} 18446744073709551615"# + "\n"
        #expect(
            counter(.prometheus)
                == #"# HELP requests_total Requests, "all"\nof\\them"# + "\n# TYPE requests_total counter\n" + sample)
        #expect(
            counter(.openMetrics)
                == #"# HELP requests Requests, \"all\"\nof\\them"# + "\n# TYPE requests counter\n" + sample + "# EOF\n")
    }

    @Test(arguments: [
        (0.0, "0.0"), (0.1, "0.1"), (-3.5, "-3.5"), (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"),
        (.nan, "NaN"), (.leastNonzeroMagnitude, "5e-324"),
    ])
    func `a gauge has the value as collectors read it`(value: Double, shown: String) {
        let text = written(.prometheus) {
            $0.declare(Metric("g", .gauge, "G"))
            $0.sample(value)
            $0.sample(value > 0)
        }
        #expect(text == "# HELP g G\n# TYPE g gauge\ng \(shown)\ng \(value > 0 ? 1 : 0)\n")
    }

    @Test func `a histogram's buckets are cumulative and end with all`() {
        let histogram = Histogram(bounds: [.milliseconds(1), .microseconds(2500), .seconds(1)])
        for nanoseconds: Int64 in [500_000, 2_000_000, 2_000_000, 5_000_000_000] {
            histogram.record(nanoseconds: nanoseconds)
        }
        let text = written(.prometheus) {
            $0.declare(Metric("h_seconds", .histogram, labels: ["d"], "H"))
            $0.sample(histogram.snapshot(), "x")
        }
        #expect(
            text == """
                # HELP h_seconds H
                # TYPE h_seconds histogram
                h_seconds_bucket{d="x",le="0.001"} 1
                h_seconds_bucket{d="x",le="0.0025"} 3
                h_seconds_bucket{d="x",le="1.0"} 3
                h_seconds_bucket{d="x",le="+Inf"} 4
                h_seconds_sum{d="x"} \(histogram.snapshot().sum)
                h_seconds_count{d="x"} 4

                """)
    }

    @Test func `a metric without samples is left out`() {
        #expect(written(.prometheus) { $0.declare(Self.requests) } == "")
        #expect(written(.openMetrics) { $0.declare(Self.requests) } == "# EOF\n")
    }
}
