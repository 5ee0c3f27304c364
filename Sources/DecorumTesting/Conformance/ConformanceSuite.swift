/// The cases that a subject is held to, and those that it is excused from, each with a reason.
///
/// ```swift
/// @Test(arguments: DecoratorLaw.all.excluding(.statuses, because: "it makes errors of them"))
/// func law(_ law: DecoratorLaw) async throws {
///     try await law.check { $0.validatingStatus() }
/// }
/// ```
///
/// It is a collection of the cases that remain, so it goes into the arguments of a parameterized test as it is.
public struct ConformanceSuite<Case: ConformanceCase>: Sendable {
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

    /// Creates a suite.
    ///
    /// - Parameter cases: The cases, in the order of the report.
    public init(_ cases: [Case]) {
        self.cases = cases
    }

    /// Leaves out cases that the subject is not meant to meet.
    ///
    /// - Parameters:
    ///   - excluded: The cases.
    ///   - reason: Why, in words for the users of the subject.
    /// - Returns: A suite without these cases.
    public func excluding(_ excluded: Case..., because reason: String) -> ConformanceSuite {
        excluding(excluded, because: reason)
    }

    /// Leaves out a group of cases that the subject is not meant to meet.
    ///
    /// - Parameters:
    ///   - excluded: The cases.
    ///   - reason: Why, in words for the users of the subject.
    /// - Returns: A suite without these cases.
    public func excluding(_ excluded: [Case], because reason: String) -> ConformanceSuite {
        var suite = self
        suite.cases.removeAll(where: excluded.contains)
        suite.exclusions += excluded.map { Exclusion(excluded: $0, reason: reason) }
        return suite
    }
}

extension ConformanceSuite: RandomAccessCollection {
    /// The position of the first case.
    public var startIndex: Int { cases.startIndex }
    /// The position behind the last case.
    public var endIndex: Int { cases.endIndex }
    /// The case at a position.
    public subscript(position: Int) -> Case { cases[position] }
}
