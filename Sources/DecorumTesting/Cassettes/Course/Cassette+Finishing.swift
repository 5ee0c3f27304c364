public import Decorum
import Foundation
import Synchronization

extension Cassette {
    /// Ends the run: writes new recordings, and reports failed requests, unplayed interactions and changed answers.
    ///
    /// A request that the cassette failed is reported here, even if the code in between has hidden its error. Nothing is
    /// written then.
    ///
    /// - Throws: ``CassetteMissError`` for a request without a recording, or ``CassetteFailuresError`` for several;
    ///   ``UnusedInteractionsError`` in ``CassetteMode/replay``, unless the rules allow them or other tests of the suite
    ///   may play them; ``CassetteDriftError`` in ``CassetteMode/verify``; ``SecretFoundError`` or ``CassetteError`` if
    ///   the file is not written, which is then unchanged.
    @concurrent public func finish() async throws {
        await endRecordings()
        do {
            try conclude()
        } catch {
            reportEnd(isFinished: error is UnusedInteractionsError)
            throw error
        }
        reportEnd(isFinished: true)
    }

    private func conclude() throws {
        try throwFailures()
        var unplayed: Set<Int>?
        switch mode {
        case .replay: unplayed = Set(self.unplayed)
        case .append, .rewrite: try save()
        case .verify: unplayed = try verify()
        case .once, .live: break
        }
        try report(unplayed: rules.unused == .fail ? unplayed : nil)
        if rules.expiry?.reaction == .fail { try checkAge() }
    }

    /// The requests that the cassette has failed, such as ``CassetteMissError``, in their order.
    public var failures: [any Error] { state.withLock { $0.failures } }

    private func throwFailures() throws {
        let failures = failures
        guard let first = failures.first else { return }
        throw failures.count == 1 ? first : CassetteFailuresError(file: file.relativePath, failures: failures)
    }

    /// Reports unplayed interactions, now or when all tests of the suite have finished.
    private func report(unplayed: Set<Int>?) throws {
        try shared?.finish(file, unplayed: isShared ? unplayed : nil, describing: unused)
        guard !isShared, let unplayed, !unplayed.isEmpty else { return }
        throw try unused(unplayed)
    }

    private func unused(_ ordinals: Set<Int>) throws -> UnusedInteractionsError {
        let scanner = SecretScanner(rules)
        let ordinals = ordinals.sorted()
        return UnusedInteractionsError(
            file: file.relativePath,
            requests: try ordinals.map { ordinal in
                let request = redactor.matchable(try content.request(at: ordinal))
                return scanner.masked("\(request.method) \(request.url)")
            },
            places: ordinals.map(place),
            advice: adviceToRecordOrShare(
                or: test == nil
                    ? "`CASSETTE=rewrite` records it anew"
                    : "`CASSETTE=rewrite` records each test anew; delete what belongs to a test that no longer exists"))
    }

    /// The line of an interaction, and the tests that recorded it; empty if neither is known.
    private func place(of ordinal: Int) -> String {
        let tests = content.tests(of: ordinal)
        let parts =
            (content.line(of: ordinal).map { ["line \($0)"] } ?? [])
            + (tests.isEmpty ? [] : ["recorded by \(tests.joined(separator: ", "))"])
        return parts.joined(separator: ", ")
    }
}

/// Several requests of a test failed at its cassette, whatever the code in between did with their errors.
public struct CassetteFailuresError: Error, Sendable {
    /// The path of the cassette.
    public let file: String
    /// The errors, such as ``CassetteMissError``, in the order of the requests.
    public let failures: [any Error]
}

extension CassetteFailuresError: DescribableError {
    /// The first failures, in full.
    public var description: String {
        let shown = failures.prefix(5).map { "\n\n\($0)" }.joined()
        let more = failures.count > 5 ? "\n\nand \(failures.count - 5) more" : ""
        return "\(failures.count) requests failed at the cassette \(file):\(shown)\(more)"
    }
}
