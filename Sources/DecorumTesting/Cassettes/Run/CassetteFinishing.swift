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
        let failures = failures
        if let first = failures.first {
            throw failures.count == 1 ? first : CassetteFailuresError(file: file.relativePath, failures: failures)
        }
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

    /// Reports unplayed interactions, now or when all tests of the suite have finished.
    private func report(unplayed: Set<Int>?) throws {
        let isFailure = rules.unused == .fail
        guard isShared else {
            shared?.close(file)
            guard isFailure, let unplayed, !unplayed.isEmpty else { return }
            throw unused(unplayed, of: content)
        }
        // The rules of a test allow that it leaves its own interactions, not the interactions of others.
        let left = isFailure ? unplayed : unplayed?.intersection(owners.foreign)
        let describe: UnusedDescription = { [self] in unused($0, of: $1) }
        shared?.finish(file, playing: content, leaving: left, describing: isFailure ? describe : nil)
    }

    private func unused(_ ordinals: Set<Int>, of content: CassetteContent) -> UnusedInteractionsError {
        let ordinals = ordinals.sorted()
        let owners = Set(ordinals.flatMap(content.tests))
        // Nothing but the name of one test selects it in a command.
        let test = owners.isEmpty && opening == nil ? testName : owners.count == 1 ? owners.first : nil
        return UnusedInteractionsError(
            file: file.relativePath, requests: ordinals.map { shownTarget(at: $0, of: content) },
            places: ordinals.map { InteractionPlace.words(line: content.line(of: $0), tests: content.tests(of: $0)) },
            fault: mode == .verify ? "no longer requested" : "never played",
            advice: adviceToRecord(
                or: "send the requests, or record the test without them: `\(Self.command(.rewrite, for: test))`"
                    + (opening == nil ? "" : ", or delete the interactions of tests that no longer exist")))
    }

    /// Reports what the cassette knows of a test that has failed, and what its own error or expectations may not tell: the
    /// requests that the cassette failed, and the differences that ``CassetteMode/verify`` has found.
    ///
    /// `shown` are the texts of the errors that the test has shown already. `note` gets what is no failure of its own.
    package func reportFailedTest(
        shown: [String], to report: (any Error) -> Void, noting note: (String) -> Void
    ) async {
        notesOfFailedTest.forEach(note)
        // An error around it may mask more of the text, or indent it. Requests of two cassettes may fail with the same number,
        // and a whole text names its file.
        let hidden = failures.filter { failure in
            let start = "\(failure)".prefix { $0 != "\n" }
            return !shown.contains { text in
                text.contains(start) && (text.contains(file.relativePath) || !text.contains("file: "))
            }
        }
        if let first = hidden.first {
            report(hidden.count == 1 ? first : CassetteFailuresError(file: file.relativePath, failures: hidden))
        }
        guard let drift = await driftOfFailedTest() else { return }
        report(drift)
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

/// Interactions of a cassette were never played.
///
/// Either a request is no longer made, or it has changed so much that another interaction answered it.
public struct UnusedInteractionsError: Error, Hashable, Sendable {
    /// The path of the cassette.
    public let file: String
    /// The method and the URL of each, redacted.
    public let requests: [String]
    /// The line of each in the file, and the tests that recorded it.
    let places: [String]
    /// What they are, as in "never played".
    let fault: String
    let advice: String
}

extension UnusedInteractionsError: DescribableError {
    /// Their number, their requests, and how to fix the cassette.
    public var description: String {
        let count = requests.count == 1 ? "1 recorded interaction is" : "\(requests.count) recorded interactions are"
        let lines = zip(requests, places).map { $1.isEmpty ? $0 : "\($0)  (\($1))" }
        return """
            Of the cassette \(file), \(count) \(fault):\(listed(lines))
            fix: \(advice); or set `rules.unused = .allow`
            """
    }
}

/// The decisions of one run of a cassette, as functions of values: its mode, and how its file is written.
///
/// ```
/// wanted    file when it is opened                         mode
/// once      absent, or absent when the suite began         append
/// once      present, outdated, to be recorded anew         rewrite
/// once      present, recorded by other tests alone         append
/// once      present                                        replay
/// replay, verify                    absent                 refused
/// append, rewrite                   of a format that is only read   refused
/// append, rewrite                   recorded by other tests too, without their suite   refused
/// any other                                                as wanted
///
/// mode      file when it is written                        the new file
/// append    nothing recorded                               (stays)
/// append    as it was opened, or absent                    the file and the recordings
/// rewrite   as it was opened, or absent                    the recordings
/// both      changed, or written before by this suite       the union of both
/// append    shared by the tests of a suite                 the file and the recordings, each known to its tests
/// rewrite   shared by the tests of a suite                 the recordings in place of the former ones of the test
/// ```
enum CassetteCourse {
    struct Opening: Hashable {
        let wanted: CassetteMode
        let exists: Bool
        /// Whether the file was absent when the first test of the suite opened it.
        var wasAbsent = false
        /// Whether other tests of the suite have recorded the whole file.
        var isNewTest = false
        /// Whether a recording of the test is older than the rules allow, and they ask to record it anew.
        var isOutdated = false
        /// The name of the file's format, if it is only read.
        var readOnlyFormat: String?
        /// The other tests that have recorded the file, if no suite shares it.
        var otherTests: [String] = []
    }

    /// The mode of a cassette, which is never ``CassetteMode/once``; `path` names it in an error.
    static func mode(for opening: Opening, of path: String) throws(CassetteError) -> CassetteMode {
        let mode = resolved(opening)
        switch mode {
        case .replay, .verify:
            guard opening.exists else {
                throw CassetteError(
                    file: path,
                    reason:
                        "it does not exist; run the test without `CI`, or with `CASSETTE=once`, to record it, or give "
                        + "the file of a renamed test its new name")
            }
        case .append, .rewrite:
            if let format = opening.readOnlyFormat {
                throw CassetteError(
                    file: path, reason: "it is a cassette of \(format), which is only replayed; record on another file")
            }
            guard opening.otherTests.isEmpty else {
                let names = opening.otherTests.sorted().prefix(3).joined(separator: ", ")
                throw CassetteError(
                    file: path,
                    reason:
                        "it has recordings of other tests, such as \(names); write `@Suite(.cassettes())` before their suite"
                )
            }
        case .once, .live: break
        }
        return mode
    }

    private static func resolved(_ opening: Opening) -> CassetteMode {
        guard opening.wanted == .once else { return opening.wanted }
        guard opening.exists, !opening.wasAbsent else { return .append }
        guard opening.readOnlyFormat == nil else { return .replay }
        if opening.isOutdated { return .rewrite }
        return opening.isNewTest ? .append : .replay
    }

    struct Saving: Hashable {
        /// The file, compared with the one that was opened.
        enum File: Hashable, CaseIterable {
            case unchanged
            case changed
            case absent
        }

        let mode: CassetteMode
        let file: File
        /// Whether another test of the suite has written the file before.
        var isWrittenBySuite = false
        var hasRecordings = true
        var hadInteractions = true
        var test: String?
    }

    enum Merge: Hashable {
        /// The file stays as it is.
        case nothing
        /// The interactions of the file, followed by the recordings.
        case addition
        /// The recordings alone.
        case replacement
        /// Each interaction of the file and of the recordings, as often as the one that has it more often has it.
        case union
        /// The interactions of all tests, with the interactions of one test added to or replaced.
        case test(String, isReplaced: Bool)
    }

    static func merge(for saving: Saving) -> Merge {
        switch saving.mode {
        case .append where !saving.hasRecordings: return .nothing
        case .rewrite where !saving.hasRecordings && (!saving.hadInteractions || saving.isWrittenBySuite):
            return .nothing
        case .append, .rewrite: break
        case .replay, .once, .verify, .live: return .nothing
        }
        if let test = saving.test { return .test(test, isReplaced: saving.mode == .rewrite) }
        if saving.file == .changed || saving.isWrittenBySuite && saving.file != .absent { return .union }
        return saving.mode == .append ? .addition : .replacement
    }
}
