import Foundation

/// One demand of a conformance suite, which its documentation states.
public protocol ConformanceCase: Sendable, Hashable, CustomStringConvertible {
    /// The name as code spells it, which is what a test report shows.
    var name: String { get }
}

extension ConformanceCase {
    /// The name.
    public var description: String { name }

    /// Compares by name.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.name == rhs.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// Runs a case and puts its name into the failure that it throws; also throws a skip or the caller's cancellation.
    func decide(within limit: Duration, _ examine: @escaping @Sendable () async throws -> Void) async throws {
        do {
            try await withDeadline(of: limit, examine)
        } catch let failure as ConformanceFailure {
            throw ConformanceFailure(failure.sentence, of: name, underlying: failure.underlying)
        } catch let skip as ConformanceSkip {
            throw skip
        } catch let error as CancellationError where Task.isCancelled {
            throw error
        } catch {
            guard let skip = ConformanceSkip(error) else {
                throw ConformanceFailure("It threw \(type(of: error)): \(error)", of: name, underlying: error)
            }
            throw skip
        }
    }
}

/// The outcome of a case that did not fail.
public enum ConformanceOutcome: Sendable, Hashable {
    /// The subject does what is demanded.
    case met
    /// The case could not be tried for this reason, such as a missing server.
    case skipped(String)
}

/// The cases that a subject is held to, and the cases that it is excused from, each with a reason.
///
/// ```swift
/// @Test(arguments: DecoratorLaw.all.excluding(.statuses, because: "it makes errors of them"))
/// func law(_ law: DecoratorLaw) async throws {
///     try await law.check { $0.validatingStatus() }
/// }
/// ```
///
/// It is a collection of the cases that remain, so it goes into the arguments of a parameterized test as it is.
public struct ConformanceSuite<Case: ConformanceCase>: Sendable, RandomAccessCollection {
    /// A case that a subject is excused from.
    public struct Exclusion: Sendable, Hashable, CustomStringConvertible {
        /// The case.
        public let excluded: Case
        /// The reason why the subject need not meet the case, for the subject's users.
        public let reason: String

        /// The name of the case and the reason.
        public var description: String { "\(excluded.name): \(reason)" }
    }

    /// The cases that are left out, with their reasons.
    public private(set) var exclusions: [Exclusion] = []
    private var cases: [Case]

    /// Creates a suite of cases, in the order of the report.
    public init(_ cases: [Case]) {
        self.cases = cases
    }

    /// Leaves out cases that the subject is not meant to meet, for a reason that its users can read.
    public func excluding(_ excluded: Case..., because reason: String) -> ConformanceSuite {
        excluding(excluded, because: reason)
    }

    /// Leaves out a group of cases that the subject is not meant to meet, for a reason that its users can read.
    public func excluding(_ excluded: [Case], because reason: String) -> ConformanceSuite {
        var suite = self
        suite.cases.removeAll(where: excluded.contains)
        suite.exclusions += excluded.map { Exclusion(excluded: $0, reason: reason) }
        return suite
    }

    /// The position of the first case.
    public var startIndex: Int { cases.startIndex }
    /// The position behind the last case.
    public var endIndex: Int { cases.endIndex }
    /// The case at a position.
    public subscript(position: Int) -> Case { cases[position] }
}

/// A subject broke a demand of a conformance suite.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
    /// The name of the case; nil outside a case.
    public let name: String?
    /// The event: what was expected and what came, with the line of the suite that expected it.
    public let sentence: String
    /// The error that the subject threw in violation of the demand, if it threw one.
    public let underlying: (any Error)?

    init(_ sentence: String, of name: String? = nil, underlying: (any Error)? = nil) {
        self.name = name
        self.sentence = sentence
        self.underlying = underlying
    }

    /// The name of the case and the sentence.
    public var description: String { name.map { "\($0): \(sentence)" } ?? sentence }
}
