public import Decorum
import Foundation

extension CassetteRules {
    /// The limits for content that is recorded although the test has dropped it, or has not read it to its end.
    ///
    /// The recorder reads on by itself, so that a later assertion on the content finds it. Content that goes on beyond a
    /// limit, such as an endless event stream, ends there in the recording. A test that reads further when it is replayed
    /// fails with ``RecordingEndedError``.
    public struct Remainder: Sendable {
        /// The largest number of bytes after those that the test has read; by default, 4 MiB.
        public var bytes: Int
        /// The longest time after the test has dropped the content, or has ended; by default, 5 seconds.
        public var time: Duration
        /// The clock for that time, which is not the cassette's, since a server does not wait for a clock of a test.
        public var clock: any DatedClock

        /// Creates limits.
        ///
        /// - Parameters:
        ///   - bytes: The largest number of bytes after those that the test has read; 0 records what it has read.
        ///   - time: The longest time after the test has dropped the content, or has ended.
        ///   - clock: The clock for that time.
        public init(bytes: Int = 4 << 20, time: Duration = .seconds(5), clock: any DatedClock = SystemClock()) {
            self.bytes = bytes
            self.time = time
            self.clock = clock
        }
    }

    /// An age from which on a recording is outdated, and the reaction to it.
    ///
    /// ```swift
    /// var rules = CassetteRules()
    /// rules.expiry = .init(after: .seconds(90 * 86_400), .recordAnew)
    /// ```
    ///
    /// Days are counted by the cassette's clock. An interaction without a day is never outdated.
    public struct Expiry: Sendable, Hashable {
        /// The reaction to a recording that is outdated.
        public enum Reaction: Sendable, Hashable {
            /// The test framework shows a warning, if it has warnings.
            case warn
            /// A test that plays it fails.
            case fail
            /// It is recorded anew where the mode records: ``CassetteMode/once`` becomes ``CassetteMode/rewrite``, and
            /// ``CassetteMode/append`` sends the request again. ``CassetteMode/replay`` warns.
            case recordAnew
        }

        /// The age from which on a recording is outdated.
        public var age: Duration
        /// The reaction to it.
        public var reaction: Reaction

        /// Creates an age and a reaction.
        ///
        /// - Parameters:
        ///   - age: The age from which on a recording is outdated.
        ///   - reaction: The reaction to it.
        public init(after age: Duration, _ reaction: Reaction) {
            self.age = age
            self.reaction = reaction
        }

        /// The date before which a recording is outdated.
        func date(from now: Date) -> Date { now - TimeInterval(age / .seconds(1)) }
    }
    /// The date before which a recording is to be recorded anew; nil if none is.
    func renewal(at now: Date) -> Date? {
        expiry.flatMap { $0.reaction == .recordAnew ? $0.date(from: now) : nil }
    }
}

/// A test has played recordings that are older than the rules allow.
///
/// See ``CassetteRules/Expiry``.
public struct OutdatedRecordingsError: Error, Hashable, Sendable {
    /// The path of the cassette.
    public let file: String
    /// The day of each recording, with the method and the URL, redacted.
    public let recordings: [String]
    /// How to fix the cassette.
    let advice: String
}

extension OutdatedRecordingsError: DescribableError {
    /// Their number, their days and requests, and how to record them anew.
    public var description: String {
        "Of the cassette \(file), \(recordings.count) recording\(recordings.count == 1 ? " is" : "s are") older than the rules "
            + "allow:\(listed(recordings))\n"
            + "fix: \(advice); or raise `rules.expiry`"
    }
}

extension Cassette {
    /// Throws if recordings were played that are older than the rules allow.
    func checkAge() throws {
        let outdated = outdated
        guard !outdated.isEmpty else { return }
        let scanner = SecretScanner(rules)
        throw OutdatedRecordingsError(
            file: file.relativePath,
            recordings: try outdated.map { ordinal in
                let request = redactor.matchable(try content.request(at: ordinal))
                let day = content.recordedAt(ordinal).map(RecordedDay.text) ?? ""
                return scanner.masked("\(day)  \(request.method) \(request.url)")
            },
            advice: adviceToRecord(or: "`CASSETTE=rewrite` records it anew"))
    }
}
