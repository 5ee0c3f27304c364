import DecorumSecrets
import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Decorum
@testable import DecorumArchive
@testable import DecorumTesting

/// What a server gives takes time in proportion to its length, whatever it is.
@Suite struct ParserTimeTests {
    @Test(arguments: values + lists + references + content + heads)
    func `Twice the input takes twice the time`(parser: TimedParser) {
        parser.expectLinearTime()
    }

    private static let now = Date(timeIntervalSince1970: 1_000_000_000)

    /// The parts of which fields consist.
    private static let marks = [
        "a", "1", ",", ";", "=", "\"", "\\", " ", "a,", "a=\"", "\", ", "\"\\", "a;b=1;", "(", "(1 ", "%", "\"|,",
        "a=|\"", ",|\"", "é", "\"a\"x,",
    ]

    private static func field(
        _ name: String, _ parts: [String] = marks, from start: String = "", to end: String = "",
        _ parse: @escaping @Sendable (HTTPFields) -> Void
    ) -> TimedParser {
        TimedParser(name, parts, from: start, to: end) { parse(fields(name, $0)) }
    }

    private static func fields(_ name: String, _ value: String) -> HTTPFields {
        HTTPFields(HTTPField.Name(name).map { [HTTPField(name: $0, value: value)] } ?? [])
    }

    private static let values = [
        TimedParser("HTTPDate", marks) { _ = HTTPDate($0, at: now) },
        TimedParser("RetryAfter", marks) { _ = RetryAfter($0, at: now) },
        TimedParser("ContentKind", marks) { _ = ContentKind(mediaType: $0) },
        TimedParser("media type", marks) { _ = $0.mediaTypeEssence },
        TimedParser("StructuredItem", marks) { _ = try? StructuredItem(parsing: $0) },
        TimedParser("StructuredItem in quotes", ["a", "\\\"", "%c3%a9"], from: "\"") {
            _ = try? StructuredItem(parsing: $0 + "\"")
            _ = try? StructuredItem(parsing: "%" + $0 + "\"")
        },
        TimedParser("TLSProblem", ["a", "a.b ", "'", "a:1"]) { _ = TransportError.TLSProblem(words: $0) },
        TimedParser("PercentCoding", ["%", "%4", "%41", "+"]) { _ = PercentCoding.decode(Array($0.utf8)[...]) },
        field("Content-Range") { _ = ContentRange($0) },
        field("Range") { _ = ByteRange($0[.range] ?? "") },
        field("Strict-Transport-Security") { _ = StrictTransportField($0) },
        field("Age") { _ = freshness($0).initialAge },
        field("Expires") { _ = freshness($0).lifetime(guessing: .standard) },
        field("ETag") { fields in
            let stored = HTTPResponse(status: .ok, headerFields: fields)
            _ = Preconditions.areMet([.ifNoneMatch: fields[.eTag] ?? ""], by: stored, at: now)
        },
    ]

    private static func freshness(_ fields: HTTPFields) -> Freshness {
        Freshness(HTTPResponse(status: .ok, headerFields: fields), requestDate: now, date: now)
    }

    private static let lists = [
        TimedParser("StructuredList", marks) { _ = try? StructuredList(parsing: $0) },
        TimedParser("StructuredDictionary", marks) { _ = try? StructuredDictionary(parsing: $0) },
        TimedParser("SetCookieSplitting", marks + [",a=", ", a"]) { _ = SetCookieSplitting.split($0) },
        TimedParser("StrictTransportEntry", ["a.b \"20271231 23:59:59\"\n", ".", "\n", "# "]) {
            _ = StrictTransportEntry.all(in: $0, upTo: .max)
        },
        field("Cache-Control") { fields in
            let control = CacheControl(fields)
            _ = (control.contains("no-store"), control.seconds(of: "max-age"), control.fields(of: "a"))
        },
        field("Vary") { _ = Vary($0) },
        field("Connection") { _ = $0.connectionFields },
        field("Content-Encoding") { _ = ContentCoding.applied(to: $0) },
        field("Cache-Status") { _ = CacheStatus.list(in: $0) },
        field("RateLimit") { _ = RateLimitFields.usedLimit(in: $0, at: now) },
        field("X-RateLimit-Remaining") { _ = RateLimitFields.usedLimit(in: $0, at: now) },
        field("Link", marks + ["<", "<a>;", "<a>;rel=\"", "<a>;rel=next,", ">"]) { _ = WebLink.links(in: $0) },
        field("Link", ["a ", "next "], from: "<a>;rel=\"", to: "\"") { _ = WebLink.links(in: $0) },
        TimedParser("fields of a 304", ["a"]) { text in
            let fields = HTTPFields(
                (0..<text.utf8.count / 10).compactMap { number in
                    HTTPField.Name("x\(number)").map { HTTPField(name: $0, value: "1") }
                })
            _ = Validation.freshened(HTTPResponse(status: .ok), with: fields)
        },
    ]

    /// The parts of which references consist.
    private static let steps = [
        "a/", "a/../", "a/|../", "../", "./", "/", ".", "..", "?", "#", "%", "%2e/", ":", "@", " ", "é", "[",
    ]

    private static func reference(
        _ name: String, _ parts: [String] = ["a/|../", "%", " ", "é"], _ parse: @escaping @Sendable (String) -> Void
    ) -> [TimedParser] {
        ["", "http://", "http://a/"].map { start in
            TimedParser("\(name) from \(start.debugDescription)", parts, from: start, parse)
        }
    }

    private static let page = Target(scheme: "http", authority: "a", path: "/b/c?d")
    private static let asked = HTTPRequest(method: .post, scheme: "http", authority: "a", path: "/b/c?d")

    private static let references =
        reference("Target", steps) { _ = try? Target.resolve($0, against: page) }
        + reference("Origin", steps) { _ = try? Origin($0) }
        + reference("Location") { text in
            let response = HTTPResponse(status: .found, headerFields: [.location: text])
            guard let url = URL(string: "http://a/b") else { return }
            _ = RedirectionDecision.after(
                response, to: Request(head: asked), at: url, policy: .standard, secretFields: [])
        }
        + reference("Content-Location") { text in
            let response = HTTPResponse(status: .ok, headerFields: [.contentLocation: text])
            _ = InvalidationRules.invalidated(by: response, to: asked)
        }
        + reference("Link") { text in
            var response = Response(status: .ok, fields: fields("Link", "<\(text)>;rel=next"))
            response.metadata.url = URL(string: "http://a/b")
            _ = response.link("next")
        }
        + reference("ResponseKey", steps) { _ = ResponseKey.URI(scheme: "http", authority: $0, path: "/" + $0) }

    private static let json = [
        "[|]", "{\"a\":|}", "[", "[[],", "{\"a\":", "\"", "\\", "\"a\",", "\\u", "\\ud800", "\"\\ud800\",", "1", "1,",
        "-", "1e", "t", " ", "é",
    ]

    /// The texts of which content consists that is made to be slow to search.
    private static let secretParts = [
        "eyJ", "eyJx.", "eyJabcd.abcd", "bearer+", "basic+", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----MIIEvQIBADANBg",
        "sk-", "ya29.", "SG.a", "glpat-a.", "\\u0041eyJ", "%25", "a=%7B&", ";a=", "://a:b", "{\"a\":", "\"{", "[\"a\",",
        "token=", "/[.", "?", "{\"a\":\"https%3A%2F%2F\"},",
    ]

    private static let content = [
        TimedParser("secrets of a URL", secretParts) { _ = Redaction.standard.applied(toURL: $0) },
        TimedParser("secrets of a text", secretParts) { _ = Redaction.standard.applied(toText: $0) },
        TimedParser("secrets of a form", secretParts) {
            _ = Redaction.standard.applied(to: Data($0.utf8), mediaType: "application/x-www-form-urlencoded")
        },
        TimedParser("secrets of JSON", secretParts) {
            _ = Redaction.standard.applied(to: Data($0.utf8), mediaType: "application/json")
        },
        TimedParser("secrets of a string of JSON", secretParts) { text in
            let string = JSONText.escape(text.utf8)
            _ = Redaction.standard.applied(
                to: Data("[\"".utf8 + string + "\"]".utf8), mediaType: "application/json")
        },
        TimedParser("JSONScanner", json, from: "[") { text in
            var scanner = JSONScanner(Array(text.utf8))
            _ = try? scanner.skipValue()
        },
        TimedParser("tokens of JSON", json) { text in
            var scanner = JSONScanner(Array(text.utf8))
            while (try? scanner.token()) != nil {}
        },
        TimedParser("JSONValue", json, from: "[") { _ = try? DecorumSecrets.JSONValue(parsing: Array($0.utf8)) },
        TimedParser("string of JSON", ["\\u0041", "\\n", "\\ud83d\\ude00", "\\ud800", "a"], from: "[\"", to: "\"]") {
            _ = try? DecorumSecrets.JSONValue(parsing: Array($0.utf8))
        },
        TimedParser("members of JSON", ["\"a\":1,"], from: "{", to: "\"b\":2}") {
            _ = try? DecorumSecrets.JSONValue(parsing: Array($0.utf8))
        },
        TimedParser("error of decoding", json, from: "[") { text in
            _ = try? Response(status: .ok).decode([Int8].self, from: Data(text.utf8)).count
        },
        TimedParser(
            "problem details", ["{\"title\":\"a\",\"loc\":[\"a\",1]},"], from: "{\"errors\":[", to: "1]}"
        ) {
            _ = ProblemText.find(in: Data($0.utf8))
        },
        TimedParser("HAR", ["{},", "{\"request\":{}},", "[],"], from: "{\"log\":{\"entries\":[", to: "{}]}}") {
            _ = try? HAR(Data($0.utf8))
        },
        TimedParser("multipart", ["--b\n", "--b\n\n", "--b\na: b;\n\n", "\n", "-", "\r\n\r\n--b"]) { text in
            let bytes = Array(text.utf8)
            _ = MultipartLayout(bytes, mediaType: "multipart/mixed; boundary=b")?.parts(of: bytes)
        },
        TimedParser("markup", ["<", "<a b=\"", "<token>", "<token|</", "a=", "</", "<!--", "\"", "'"]) {
            _ = Redaction.standard.applied(to: Data($0.utf8), mediaType: "text/html")
        },
        TimedParser("table", [",", "\"", "\"|,", "token,", "\n", "a\n"], from: "token,a\n") {
            _ = Redaction.standard.applied(to: Data($0.utf8), mediaType: "text/csv")
        },
    ]
}

#if os(Linux)
extension ParserTimeTests {
    /// The parsers that read what libcurl gives.
    fileprivate static let heads = [
        TimedParser("head", ["a: b\n", " a\n", "a", "\n", ": ", "\r"], from: "HTTP/1.1 200 OK\na: b\n") { text in
            var head = CurlResponseHead()
            unsafe Array(text.utf8).withUnsafeBytes { unsafe head.append($0) }
            _ = head.response
        },
        TimedParser("chunked", ["1\r\na\r\n", "1;a=b\r\na\r\n", "0", "a\r\n", "0\r\na: b\r\n"]) { text in
            var decoder = CurlChunkedDecoder()
            _ = unsafe Array(text.utf8).withUnsafeBytes { unsafe decoder.decode($0) { _ in } }
        },
    ]
}
#else
extension ParserTimeTests {
    fileprivate static let heads: [TimedParser] = []
}
#endif
