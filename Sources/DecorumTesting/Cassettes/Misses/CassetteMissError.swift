public import Decorum
import DecorumArchive
import Foundation
import HTTPTypes
import Synchronization

/// No interaction of a cassette answers a request.
///
/// The description shows the request, the recorded one that is nearest and every rule in which they do not agree, and
/// how to record it. All of it is redacted, and a text without a name that looks like a secret is masked too.
public struct CassetteMissError: Error, Hashable, Sendable {
    /// The method and the URL of the request, redacted.
    public let request: String
    /// The number of requests to the cassette so far, including this one.
    public let number: Int
    /// The path of the cassette, with the line of the nearest interaction if it is known.
    public let file: String
    /// The recorded request that is nearest, and the differences.
    public let explanation: String
    /// The whole request and the whole recorded one that is nearest, redacted, for the report of a test.
    public let report: String
    private let advice: String
}

extension CassetteMissError: DescribableError {
    /// The request, the nearest recorded one, the reason why it does not match, and how to record the request.
    public var description: String {
        """
        No recording matches request \(number).
          \(request)
        \(explanation)
        fix: \(advice)
        file: \(file)
        """
    }
}

/// The reaction to a request without a recording.
///
/// ```swift
/// var rules = CassetteRules()
/// rules.onMiss = { miss, request in
///     request.url.hasSuffix("/metrics") ? .answer(RecordedResponse(status: 204)) : .fail
/// }
/// ```
public enum MissReaction: Sendable, Hashable {
    /// The request throws ``CassetteMissError``, and ``Cassette/finish()`` throws it again.
    case fail
    /// The request throws ``CassetteMissError``, and the test may pass.
    case tolerate
    /// The request is answered with a response.
    case answer(RecordedResponse)
}

extension CassetteMissError {
    /// Finds the recorded request that is nearest to one without a recording, and the differences.
    ///
    /// A recording of the test itself is nearer than one of another test, which answers it only if the test has none with the
    /// path of the request. To a test that has recorded nothing, none is near.
    init(_ live: RecordedRequest, number: Int, finding: PlaybackIndex.Finding, in cassette: Cassette) throws {
        let recorded = try RecordedRequests(of: cassette)
        let live = recorded.hidingSecrets(of: live)
        let all = recorded.requests.indices
        let foreign = cassette.owners.foreign
        let onPath = all.filter { RequestNearness.haveSameAddress(recorded.requests[$0].url, live.url) }
        let own = all.filter { !foreign.contains($0) }
        let isOwn = onPath.isEmpty ? !own.isEmpty : onPath.contains { !foreign.contains($0) }
        let candidates = cassette.owners.answerNothing ? [] : isOwn ? own : onPath.isEmpty ? Array(all) : onPath
        // Of several that are equally near, one that has not been played is more likely to be the intended one.
        let unplayed = Set(cassette.unplayed)
        let keys = recorded.keys(of: live)
        let nearest = candidates.map { (recorded.nearness($0, live, keys), unplayed.contains($0) ? 1 : 0, -$0) }.max(
            by: <
        )
        .map { -$0.2 }
        let text: (explanation: String, advice: String)
        if let nearest {
            let difference = try recorded.difference(nearest, live)
            text =
                difference.disagreements.isEmpty
                ? Self.agreement(of: nearest, finding, in: cassette)
                : (
                    Self.absence(of: live, onPath, nearest, recorded)
                        + difference.text(
                            heading: Self.heading(nearest, isPlayed: !unplayed.contains(nearest), cassette)),
                    "if the change is meant, record the test anew with `\(cassette.rewriteCommand)`; ignore a value that differs in "
                        + "each run, as in `.url(ignoring: \"time\")` or `.body(ignoring: \"**.id\")`"
                )
        } else {
            let tests = cassette.content.testNames.sorted()
            text = (
                tests.isEmpty
                    ? "the cassette holds no interaction" : "all recordings belong to other tests:\(listed(tests))",
                "record the test without `CI`, or with `\(Cassette.command(.append, for: cassette.testName))`"
            )
        }
        self.init(
            request: recorded.scanner.masked("\(live.method) \(live.url)"), number: number,
            file: InteractionPlace.address(in: cassette.file, line: nearest.flatMap(cassette.content.line)),
            explanation: text.explanation,
            report: MissReport(scanner: recorded.scanner)
                .text(
                    live, number: number, nearest: nearest.map { recorded.requests[$0] },
                    shown: try nearest.map(recorded.shown),
                    name: "interaction \((nearest ?? 0) + 1) of \(cassette.file.lastPathComponent)"),
            advice: cassette.adviceToRecord(or: text.advice))
    }

    /// A line about a request of which no recording has the method and the path; empty if one has.
    private static func absence(
        of live: RecordedRequest, _ onPath: [Int], _ nearest: Int, _ recorded: RecordedRequests
    ) -> String {
        guard !onPath.contains(where: { recorded.requests[$0].method == live.method }) else { return "" }
        let paths = [recorded.requests[nearest], live].map { RequestNearness.address(of: URLKey.target(of: $0.url)) }
        return onPath.isEmpty && paths[0] == paths[1]
            ? "the recorded request went to another origin, which `.pathAndQuery` in place of `.url` ignores\n"
            : "no recording has this method and path\n"
    }

    private static func heading(_ nearest: Int, isPlayed: Bool, _ cassette: Cassette) -> String {
        let tests = cassette.owners.foreign.contains(nearest) ? cassette.content.tests(of: nearest) : []
        let course =
            tests.isEmpty ? isPlayed ? "already played" : "not played so far" : "of \(tests.joined(separator: ", "))"
        return "closest: interaction \(nearest + 1), \(course)"
    }

    /// The reason why an interaction that matches does not answer, and how to record another one.
    private static func agreement(
        of nearest: Int, _ finding: PlaybackIndex.Finding, in cassette: Cassette
    ) -> (String, String) {
        let (next, answered) = cassette.state.withLock { ($0.index.cursor, $0.answered) }
        let name = "interaction \(nearest + 1) matches"
        if cassette.owners.withheld.contains(nearest) {
            let tests = cassette.content.tests(of: nearest).joined(separator: ", ")
            return (
                "\(name), but answers only \(tests)",
                "record the test without `CI`, or with `\(Cassette.command(.append, for: cassette.testName))`"
            )
        }
        let rewriting = "record the test anew with `\(cassette.rewriteCommand)`"
        guard case .played(let ordinals) = finding else {
            let isKnown = next < cassette.content.count
            return (
                "\(name), but is not the next one in order (the rules ask for `.strict`)"
                    + (isKnown
                        ? ", which is interaction \(next + 1), \(cassette.shownTarget(at: next, of: cassette.content))"
                        : ""),
                "send the requests in the recorded order, or \(rewriting)"
            )
        }
        let requests = ordinals.compactMap { answered[$0]?.number }
        return (
            (ordinals.count == 1 ? name : "interactions \(list(ordinals.map { $0 + 1 })) match")
                + ", but the test sends the request once more; played for request\(requests.count == 1 ? "" : "s") \(list(requests))",
            "send the request as often as it was recorded, or \(rewriting); if its answer is the same each time, set "
                + "`rules.repeats = .last`"
        )
    }

    private static func list(_ numbers: [Int]) -> String {
        numbers.prefix(6).map(String.init).joined(separator: ", ") + (numbers.count > 6 ? ", …" : "")
    }
}

/// A request that failed at a cassette, and the recording that belongs to it, in full, as text for the report of a test.
///
/// They are redacted before; texts that look like secrets are masked here.
struct MissReport {
    private static let limit = 64 << 10

    let scanner: SecretScanner

    /// The text of a missed request and the nearest recorded one; `nearest` is redacted as for matching, and `shown` is the same request with the placeholders of the file.
    func text(
        _ live: RecordedRequest, number: Int, nearest: RecordedRequest?, shown: RecordedRequest?, name: String
    ) -> String {
        joined(
            ["request \(number)\n\n" + message(live, hiding: nearest)]
                + (shown.map { ["\(name)\n\n" + message($0)] } ?? []))
    }

    /// The text of a recording and its answer, which are redacted with the placeholders of the file.
    func text(_ interaction: Interaction, name: String) -> String {
        let answer = interaction.response.map { text(of: $0.body, $0.fields, behind: "\($0.status)") }
        return joined(["\(name)\n\n" + message(interaction.request)] + [answer].compactMap(\.self))
    }

    func head(_ line: String, _ fields: HTTPFields) -> String {
        scanner.masked("\(line)\n" + fields.map { "\($0.name.rawName): \($0.value)\n" }.joined())
    }

    private func joined(_ parts: [String]) -> String { parts.joined(separator: "\n\n----\n\n") + "\n" }

    private func message(_ request: RecordedRequest, hiding recorded: RecordedRequest? = nil) -> String {
        text(of: request.body, request.fields, behind: "\(request.method) \(request.url)", hiding: recorded)
    }

    private func text(
        of body: RecordedBody, _ fields: HTTPFields, behind line: String, hiding recorded: RecordedRequest? = nil
    ) -> String {
        let head = head(line, fields)
        let count = body.bytes.count
        guard count > 0 else { return head }
        guard fields[.contentEncoding] == nil, count <= Self.limit,
            !UnsearchedContent.includes(Array(body.bytes), mediaType: fields[.contentType]),
            let text = String(validating: body.bytes, as: UTF8.self)
        else { return head + "\n(\(count) bytes)" }
        // Where the recorded content has a placeholder, the live one may still have the secret.
        if let recorded, String(decoding: recorded.body.bytes, as: UTF8.self).contains(Pseudonym.erasedText) {
            return head + "\n(\(count) bytes, not shown, since a secret stands in the recorded ones)"
        }
        return head + "\n" + scanner.masked(text)
    }
}

/// What an error of a cassette says, and how to mend it.
extension Cassette {
    /// The method and the URL of a recorded request as an error shows them, redacted.
    func shownTarget(at ordinal: Int, of content: CassetteContent) -> String {
        guard let request = (try? content.target(at: ordinal)).map(redactor.matchable) else {
            return "a request that cannot be read"
        }
        return SecretScanner(rules).masked("\(request.method) \(request.url)")
    }

    var rewriteCommand: String { Self.command(.rewrite, for: testName) }

    /// The command that runs a test in a mode, and no test of another name, except one that begins with it in XCTest.
    static func command(_ mode: CassetteMode, for test: String?) -> String {
        guard let test else { return "CASSETTE=\(mode.rawValue) swift test" }
        // A suite, a name in words and a character of the shell stand for themselves as any characters.
        let pattern = nameWithoutArguments(test).replacing(/[^\p{L}\p{N}_ -]+/, with: ".*")
        return "CASSETTE=\(mode.rawValue) swift test --filter '\(pattern)\(test.contains(".") ? ".?\\(" : "")'"
    }

    /// The name of a test without the arguments of its case, as in `FeedTests.page(2)`.
    ///
    /// A parenthesis behind a blank is part of a test's name in words.
    private static func nameWithoutArguments(_ name: String) -> String {
        name.firstMatch(of: /(?s)[^ ]\(.*\)/).map { String(name[...$0.startIndex]) } ?? name
    }

    /// How to fix a cassette: a mode that records it, or another file if this one is only replayed.
    func adviceToRecord(or modes: String) -> String {
        guard let format = opened.readOnlyFormat else { return modes }
        return "record on another file, since a cassette of \(format) is only replayed"
    }
}

/// A cassette has not sent a request to the server.
public struct RequestNotSentError: Error, Hashable, Sendable {
    /// The reason why a request is not sent.
    public enum Reason: Hashable, Sendable {
        /// The method may change the server, and the rules refuse that; see ``CassetteRules/refusesUnsafeMethods``.
        case unsafeMethod
        /// The request holds the placeholder of a secret that the cassette has played, which is no secret itself.
        ///
        /// In ``CassetteMode/append``, a login that is recorded is played, and its token is a placeholder. A server would
        /// refuse it, and its refusal would be recorded.
        case placeholder(String)
    }

    /// The method and the URL of the request, redacted.
    public let request: String
    /// The reason.
    public let reason: Reason
    /// The path of the cassette.
    public let file: String
    let advice: String
    /// The head of a request with a placeholder, redacted, for the report of a test; else empty.
    package let report: String
}

extension RequestNotSentError: DescribableError {
    /// The request, the cause, and how to record it.
    public var description: String {
        let cause =
            switch reason {
            case .unsafeMethod: "its method may change the server, and the rules refuse that"
            case .placeholder(let text): "it holds \(text), which the cassette has in place of a secret"
            }
        return """
            The request was not sent, because \(cause).
              \(request)
            fix: \(advice)
            file: \(file)
            """
    }
}

extension Cassette {
    /// Whether a request may have to be sent, so that a connection is needed.
    var needsConnection: Bool { mode != .replay || !rules.passedHosts.isEmpty || !rules.liveHosts.isEmpty }

    /// Throws if a request that is about to be sent has a method that is not safe, and the rules refuse it.
    func checkSafety(of request: borrowing Request) throws(RequestNotSentError) {
        let safe: [HTTPRequest.Method] = [.get, .head, .options, .trace]
        guard rules.refusesUnsafeMethods, !safe.contains(request.head.method) else { return }
        throw notSent(
            RecordedRequest(request.head, declaredBy: request.options), .unsafeMethod,
            advice: "record with `rules.refusesUnsafeMethods = false`, against a server that may be changed")
    }

    func checkPlaceholders(in request: RecordedRequest) throws(RequestNotSentError) {
        let placeholders = request.placeholders(named: false)
        guard content.count > 0, let placeholder = opened.first(of: placeholders) else { return }
        throw notSent(
            request, .placeholder(String(decoding: placeholder, as: UTF8.self)),
            advice: adviceToRecord(or: "send and record all requests of the test anew with `\(rewriteCommand)`"))
    }

    private func notSent(
        _ request: RecordedRequest, _ reason: RequestNotSentError.Reason, advice: String
    ) -> RequestNotSentError {
        let matchable = redactor.matchable(request)
        let scanner = SecretScanner(rules)
        // No recorded request tells where a secret without a name stands in the content.
        let head = MissReport(scanner: scanner).head("\(matchable.method) \(matchable.url)", matchable.fields)
        let count = matchable.body.bytes.count
        let error = RequestNotSentError(
            request: scanner.masked("\(matchable.method) \(matchable.url)"), reason: reason, file: file.relativePath,
            advice: advice,
            report: reason == .unsafeMethod ? "" : head + (count == 0 ? "" : "\n(\(count) bytes)\n"))
        keep(error)
        return error
    }
}

extension CassetteContent {
    /// The first of some placeholders that a file holds; in a format without a text, any may come from it.
    fileprivate func first(of placeholders: Set<[UInt8]>) -> [UInt8]? {
        guard !placeholders.isEmpty, let reader else { return placeholders.first }
        let held = Pseudonym.places(in: reader.bytes).lazy
            .map { PercentCoding.decode(reader.bytes[$0], plusIsBlank: false) }
        return held.first(where: placeholders.contains)
    }
}
