// An application as other developers write it, which tests kill, fork and end in every way:
//
//     sdk-application SOCKET SPOOL record COUNT    records, prints "recorded" and waits to be killed
//     sdk-application SOCKET SPOOL flush COUNT     records, flushes, prints the outcome and waits to be killed
//     sdk-application SOCKET SPOOL fork COUNT      records and forks; both record, the child in four threads
//     sdk-application SOCKET SPOOL release COUNT   makes and releases this many providers, each with an event
//     sdk-application SOCKET SPOOL descriptors COUNT   cannot open the files of its spool for a while
//     sdk-application SOCKET SPOOL few-N COUNT     makes its provider when it can open only N more files, and records
//     sdk-application SOCKET SPOOL purge-N COUNT   the same, and first withdraws consent
//     sdk-application SOCKET SPOOL WAY COUNT       records and ends in this way: see `Ending`
//
// SOCKET may be the URL of a service instead, which gets the events over HTTP. The events are named "Parent" or "Child"
// and have the property `number`, from 0 on. SPOOL "none": no spool.
import Foundation
import Penstock
import PenstockHTTP

#if canImport(Glibc)
    import Glibc
#endif

let arguments = CommandLine.arguments
guard arguments.count == 5, let count = Int(arguments[4]) else {
    print("usage: sdk-application SOCKET SPOOL record|flush|fork|WAY COUNT")
    exit(64)
}
// Registered before the provider exists, so it runs after the provider's own handler.
if arguments[3] == "late" { atexit(recordLate) }
var options = DaemonProvider.Options(environment: [:])
options.socket = arguments[1]
options.spool = arguments[2] == "none" ? nil : arguments[2]
options.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
if arguments[3].contains("-") { options.adoptionInterval = .milliseconds(20) }
if arguments[3] == "descriptors" {
    options.spoolSegmentBytes = 1000
    options.adoptionInterval = .seconds(3600)
}

@MainActor func makeProvider() -> any AnalyticsProvider {
    guard arguments[1].hasPrefix("http:"), let service = URL(string: arguments[1]) else {
        return DaemonProvider(options)
    }
    var http = HTTPProvider.Options(service: service, writeKey: "key", environment: [:])
    http.spool = options.spool
    http.spoolSegmentBytes = options.spoolSegmentBytes
    http.adoptionInterval = options.adoptionInterval
    http.exitTimeout = .milliseconds(250)
    // The first files of the spool are to be read when no more can be opened.
    if arguments[3] == "descriptors" { http.retryDelay = .seconds(2) ... .seconds(2) }
    // Released while their requests are answered, they are to close at once.
    http.closingTimeout = arguments[3] == "release" ? .zero : .milliseconds(250)
    return HTTPProvider(http)
}

let way = arguments[3].split(separator: "-").map(String.init)
if let few = way.dropFirst().first.flatMap({ Int($0) }) { TakenDescriptors.takeAll(but: few) }
let provider = makeProvider()
var analyticsOptions = Analytics.Options()
analyticsOptions.diagnostics = SpoolReports.handler
var providers = [provider]
if arguments[3] == "pair" {
    options.socket += "-second"
    providers.append(DaemonProvider(options))
}
let analytics = Analytics(providers: providers, userID: "u", options: analyticsOptions)

func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

@Sendable func record(_ name: String, _ numbers: Range<Int>) {
    for number in numbers { analytics.track(name, ["number": .int(number)]) }
}

/// Works without Swift concurrency, which a forked child does not have.
func waitUntilNothingIsInMemory() {
    while let provider = provider as? DaemonProvider, provider.statistics.inMemory > 0 { usleep(1000) }
}

/// Swift hides fork(2), because few programs may use it safely.
func forkProcess() -> Int32 {
    let address = unsafe dlsym(nil, "fork")
    let fork = unsafe unsafeBitCast(address, to: (@convention(c) () -> Int32).self)
    return fork()
}

switch way[0] {
case "descriptors": await spoolWithoutDescriptors(count)
case "few": await recordWithFewDescriptors()
case "purge": await purgeWithFewDescriptors()
case "record":
    recordAll()
    say("recorded")
    while true { pause() }
case "flush":
    recordAll()
    say("\(await analytics.flush(timeout: .seconds(60)))")
    while true { pause() }
case "fork":
    recordAllBeforeFork()
    let child = forkProcess()
    if child == 0 {
        let threads = 4
        let ended = DispatchSemaphore(value: 0)
        for first in 0..<threads {
            Thread.detachNewThread {
                record("Child", first * count / threads..<(first + 1) * count / threads)
                ended.signal()
            }
        }
        for _ in 0..<threads { ended.wait() }
        waitUntilNothingIsInMemory()
        _exit(0)
    }
    record("Parent", count..<2 * count)
    waitUntilNothingIsInMemory()
    var status: Int32 = 0
    unsafe waitpid(child, &status, 0)
    say("child ended with \(status)")
case "release":
    for number in 0..<count {
        let released = makeProvider()
        Analytics(providers: [released], userID: "u").track("Parent", ["number": .int(number)])
        // Some are released before the request begins, and some while it is answered.
        if number % 3 > 0 { usleep(UInt32(number % 50 * 100)) }
    }
    record("Parent", count..<count + 1)
    say("\(await analytics.flush(timeout: .seconds(60)))")
default:
    guard let ending = Ending(rawValue: arguments[3]) else { exit(64) }
    await end(ending)
}
