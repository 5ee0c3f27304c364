#if CommandLine
import ArgumentParser
import Decorum
import DecorumTesting

/// The options by which requests are recorded and played, and by which a run can be repeated.
struct CassetteOptions: ParsableArguments {
    @Option(help: "Record the exchanges on a cassette.", completion: .file()) var record: String?
    @Option(help: "Answer from a cassette, and send nothing.", completion: .file()) var play: String?
    @Option(help: "How to record.") var mode = RecordChoice.append
    @Option(help: "Start all random numbers from this one.") var seed: UInt64?
    @Flag(help: "Let waits pass at once; with --play.") var virtualTime = false

    /// What a recording does with a cassette that exists.
    enum RecordChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
        case append, new, verify
    }

    var clock: any DatedClock { virtualTime ? ImpatientClock() : SystemClock() }
    var generator: any RandomGenerator { seed.map { SeededGenerator(seed: $0) } ?? SystemGenerator() }

    /// The cassette; nil without one.
    func cassette(clock: any DatedClock) throws -> Cassette? {
        guard record == nil || play == nil, !virtualTime || play != nil, mode == .append || record != nil else {
            throw CommandFailure(.usage, "A run either records, also with --mode, or plays, also in virtual time.")
        }
        if let play { _ = try InputFile.url(play) }
        let recording: CassetteMode = mode == .append ? .append : mode == .new ? .rewrite : .verify
        // A command plays as much of a cassette as it asks for.
        let rules = CassetteRules(unused: .allow)
        return try (record ?? play).map {
            try Cassette(at: $0.expandingHome, mode: play == nil ? recording : .replay, rules: rules, clock: clock)
        }
    }
}
#endif
