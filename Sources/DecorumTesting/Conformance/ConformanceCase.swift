/// One demand of a conformance suite, with a name and a sentence that states it.
public protocol ConformanceCase: Sendable, Hashable, CustomStringConvertible {
    /// The name as code spells it, which is what a test report shows.
    var name: String { get }
    /// The demand, in a sentence.
    var demand: String { get }
}

extension ConformanceCase {
    /// The name.
    public var description: String { name }

    /// Compares by name.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.name == rhs.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension ConformanceCase {
    /// Runs a case and puts its name into the failure that it throws; also throws a skip or the caller's cancellation.
    func decide(within limit: Duration, _ examine: @escaping @Sendable () async throws -> Void) async throws {
        do {
            try await withDeadline(of: limit, "\(demand) The case did not end within \(limit).", examine)
        } catch let failure as ConformanceFailure {
            throw ConformanceFailure(failure.sentence, of: name, underlying: failure.underlying)
        } catch let skip as ConformanceSkip {
            throw skip
        } catch let missing as MissingProgramError {
            throw ConformanceSkip(reason: missing.reason)
        } catch let error as CancellationError where Task.isCancelled {
            throw error
        } catch {
            throw ConformanceFailure(
                "\(demand) It threw \(type(of: error)) instead: \(error)", of: name, underlying: error)
        }
    }
}

/// Ends a case that cannot be tried.
struct ConformanceSkip: Error {
    let reason: String
}
