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
        try report(unplayed: unplayed)
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
        let isFailure = rules.unused == .fail
        guard isShared else {
            shared?.close(file)
            guard isFailure, let unplayed, !unplayed.isEmpty else { return }
            throw unused(unplayed, of: content)
        }
        // The rules of a test allow that it leaves its own interactions, not those of others.
        let left = isFailure ? unplayed : unplayed?.intersection(owners.foreign)
        let describe: SharedCourse.Description = { [self] ordinals, content in unused(ordinals, of: content) }
        shared?.finish(
            file, playing: content, leaving: left, describing: isFailure ? describe : nil,
            reading: Self.reader(of: file))
    }

    /// Reads a file of this library as it is then; one of another tool names no tests.
    private static func reader(of file: URL) -> SharedCourse.Reading {
        { try? CassetteContent(of: file, at: FileStamp(of: file), CassetteRules(), in: nil) }
    }

    private func unused(_ ordinals: Set<Int>, of content: CassetteContent) -> UnusedInteractionsError {
        let scanner = SecretScanner(rules)
        let ordinals = ordinals.sorted()
        // In a file of several tests, a request for a token may be one of another test.
        let cause = forgottenSuite == nil ? causeInCredentials(of: ordinals, in: content) : nil
        // Tests that share a file do not tell which of them has played an interaction.
        let equals = mode == .replay && !isShared ? EqualInteraction.played(besides: ordinals, in: content) : [:]
        return UnusedInteractionsError(
            file: file.relativePath,
            requests: ordinals.map { ordinal in
                guard let request = try? content.request(at: ordinal) else { return "a request that cannot be read" }
                let matchable = redactor.matchable(request)
                return scanner.masked("\(matchable.method) \(matchable.url)")
            },
            places: ordinals.map { ordinal in
                let equal = equals[ordinal].map { "equals interaction \($0 + 1), which was played" }
                let place = InteractionPlace.words(line: content.line(of: ordinal), tests: content.tests(of: ordinal))
                return [place, equal ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")
            },
            isVerified: mode == .verify, forgottenSuite: forgottenSuite,
            advice: (cause.map { "\($0); else " } ?? Self.adviceForCopies(ordinals, equals))
                + adviceToRecordOrShare(or: adviceForUnused(ordinals, of: content)), isOfAbsentTests: false)
    }

    /// The advice for interactions that all equal played ones, which another advice follows; empty for others.
    private static func adviceForCopies(_ ordinals: [Int], _ equals: [Int: Int]) -> String {
        guard ordinals.allSatisfy({ equals[$0] != nil }) else { return "" }
        let copies = ordinals.count == 1 ? "the copy" : "the copies"
        return "if the file was edited, delete \(copies), or restore the file; else "
    }

    /// How to remove interactions that are not used, unless a mistake of the code leaves them unused: the command for the test
    /// that has recorded all of them, if it is one.
    private func adviceForUnused(_ ordinals: [Int], of content: CassetteContent) -> String {
        let (requests, them) = ordinals.count == 1 ? ("the request is", "it") : ("the requests are", "them")
        let condition = "find out why \(requests) not sent; if that is meant, "
        guard test != nil else { return condition + "`\(rewriteCommand)` records the test anew without \(them)" }
        let owners = Set(ordinals.flatMap(content.tests(of:)))
        let remedy = "delete those of a test that no longer exists"
        guard owners.count == 1, let owner = owners.first, !ordinals.contains(where: { content.tests(of: $0).isEmpty })
        else { return condition + "`CASSETTE=rewrite` records each test anew; \(remedy)" }
        return condition + "`\(Self.command(.rewrite, for: owner))` records the test anew without \(them); \(remedy)"
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
