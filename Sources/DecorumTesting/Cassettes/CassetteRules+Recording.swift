public import Decorum
import Foundation

extension CassetteRules {
    /// The limits for content that is recorded although the test has dropped it, or has not read it to its end.
    ///
    /// The recorder reads on by itself, so that a later assertion on the content finds it. Content that goes on beyond a
    /// limit, such as an endless event stream, ends there in the recording. A test that reads further when it is replayed
    /// fails with ``RecordingEndedError``.
    public struct Remainder: Sendable {
        /// The largest number of bytes behind the part that the test has read; by default, 4 MiB.
        public var bytes: Int
        /// The longest time after the test has dropped the content, or has ended; by default, 5 seconds.
        public var time: Duration
        /// The clock for that time, which is not the cassette's, since a server does not wait for a clock of a test.
        public var clock: any DatedClock

        /// Creates limits.
        ///
        /// - Parameters:
        ///   - bytes: The largest number of bytes behind the part that the test has read; 0 records that part alone.
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

        func date(from now: Date) -> Date { now - TimeInterval(age / .seconds(1)) }
    }
    /// The date before which a recording is to be recorded anew; nil if none is.
    func renewal(at now: Date) -> Date? {
        expiry.flatMap { $0.reaction == .recordAnew ? $0.date(from: now) : nil }
    }
}
