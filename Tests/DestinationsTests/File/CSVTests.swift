import Events
import Foundation
import Platform
import Telemetry
import Testing

@testable import Destinations

@Suite("A file destination with CSV")
struct CSVTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private func options(
        _ name: String, _ columns: [String], _ compression: FileDestinationOptions.Compression = .none, size: Int? = nil
    ) -> FileDestinationOptions {
        var options = FileDestinationOptions(
            path: directory.path + "/" + name, compression: compression, rotateSize: size)
        options.format = .csv(columns: columns)
        return options
    }

    @Test func `a CSV row quotes fields only if needed and distinguishes null from empty text`() throws {
        let bench = try FileBench(options("a.csv", ["plain", "co,mma", "quo\"te", "n"]))
        bench.deliver(
            makeBatch(
                [
                    #"{"plain":"x","co,mma":"a,b","quo\"te":"say \"hi\"","n":1.50}"#,
                    #"{"plain":"","co,mma":null,"n":[1,"x"]}"#,
                    #"{"plain":"two\r\nlines","co,mma":" padded ","quo\"te":"=1+1","n":true,"other":1}"#, "{}",
                ], at: bench.clock.wallClock()))
        #expect(
            directory.text("a.csv") == """
                plain,"co,mma","quo""te",n
                x,"a,b","say ""hi""\",1.50
                "",,,"[1,""x""]"
                "two\r
                lines"," padded ",=1+1,true
                ,,,

                """)
    }

    @Test(arguments: ["a.csv", "a.csv.gz", "a.csv.zst"])
    func `each new CSV file starts with the header, and no other line repeats it`(name: String) throws {
        let compression: FileDestinationOptions.Compression =
            name.hasSuffix(".gz") ? .gzip : name.hasSuffix(".zst") ? .zstd : .none
        let bench = try FileBench(options(name, ["n"], compression, size: compression == .none ? 150 : 300))
        for round in 0..<40 as Range<UInt64> {
            bench.deliver(round * 3..<round * 3 + 3)
            try bench.checkpoint(round * 3 + 3)
            if round % 9 == 0 { try bench.start() }
        }
        #expect(directory.files.count > 2)
        var numbers: [Int] = []
        for file in directory.files {
            let lines = try directory.lines(file)
            #expect(lines.first == "n")
            #expect(directory.bytes(file).count <= 300)
            numbers += lines.dropFirst().compactMap { Int($0) }
        }
        #expect(numbers.sorted() == Array(0..<120))
    }

    @Test(arguments: ["a.csv", "a.csv.gz"])
    func `a CSV file with other columns is renamed, not appended to`(name: String) throws {
        let compression: FileDestinationOptions.Compression = name.hasSuffix(".gz") ? .gzip : .none
        let first = try FileBench(options(name, ["n"], compression))
        first.deliver(0..<2)
        try first.checkpoint(2)
        let second = try FileBench(
            options(name, ["n", "event"], compression), ledger: first.ledger, from: first.durable)
        second.deliver(2..<4)
        #expect(try directory.lines(name) == ["n,event", "2,Viewed", "3,Viewed"])
        let other = try #require(directory.files.first { $0 != name })
        #expect(try directory.lines(other) == ["n", "0", "1"])
    }
}
