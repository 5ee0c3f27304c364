#if Signing
import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// RFC 9421, sections 2 to 4 and appendix B.
@Suite(.timeLimit(.minutes(3))) struct SignatureBaseTests {
    @Test func `The text of each example is that of the RFC, byte for byte`() throws {
        let examples = try SignatureExample.all.get()
        #expect(examples.count == 34)
        for example in examples {
            let (label, components, parameters) = try example.member
            var base = SignatureBase(components: components, parameters: parameters)
            base.types = (example.types ?? [:]).mapValues { $0 == "list" ? .list : $0 == "item" ? .item : .dictionary }
            let text = try base.text(for: try example.message).whole
            let input = example.input.hasPrefix("(") ? example.input : String(example.input.dropFirst(label.count + 1))
            let expected = example.base + ["\"@signature-params\": \(input)"]
            #expect(text == expected.joined(separator: "\n"), "\(example.section)")
        }
    }

    @Test(arguments: SignatureExample.signed)
    func `The signature of an example is valid, and one of a text that differs is not`(example: SignatureExample)
        async throws
    {
        let (_, components, parameters) = try example.member
        let text = try SignatureBase(components: components, parameters: parameters).text(for: try example.message)
            .whole
        let signature = try #require(Data(base64Encoded: example.signature ?? ""))
        let key = try ExampleKey.named(example.key ?? "")
        #expect(try key.verifying.isValid(signature, of: Data(text.utf8)) == example.isValid ?? true)
        #expect(try !key.verifying.isValid(signature, of: Data((text + "x").utf8)))

        let own = try await key.signing.signature(of: Data(text.utf8))
        #expect(try key.verifying.isValid(own, of: Data(text.utf8)))
        let isDeterministic = ["ed25519", "hmac-sha256", "rsa-v1_5-sha256"].contains(key.algorithm)
        if isDeterministic, example.isValid ?? true { #expect(own == signature) }
    }

    private static let faults: [(components: String, words: String)] = [
        ("\"absent\"", "is not among the fields"), ("\"absent\";tr", "is not among the trailer fields"),
        ("\"@other\"", "name that is not known"), ("\"@signature-params\"", "name that is not known"),
        ("\"date\" \"date\"", "is named twice"),
        ("\"dict\";key=\"a\";sf \"dict\";sf;key=\"a\"", "is named twice"),
        ("\"date\";unknown", "parameter that is not known"), ("\"date\";sf=?0", "flag with a value"),
        ("\"date\";key=1", "parameter that is no string"), ("\"dict\";bs;key=\"a\"", "exclude each other"),
        ("\"dict\";bs;sf", "exclude each other"), ("\"date\";sf", "type is not known"),
        ("\"dict\";key=\"z\"", "is no member"), ("\"priority\";key=\"a\"", "no dictionary"),
        ("\"priority\";sf", "not of its type"), ("\"Date\"", "lower case"), ("\"@method\";tr", "only fields have"),
        ("\"@method\";req", "which there cannot be"), ("\"@status\"", "responses only"),
        ("\"@query-param\"", "lacks the name"), ("\"@query-param\";name=\"z\"", "is not in the query"),
        ("\"@query-param\";name=\"a\"", "several times"), ("\"set-cookie\"", "several lines"),
        ("\"x-bytes\"", "only its bytes"), ("1", "no string"), ("\"\"", "lower case"), ("\"a b\"", "lower case"),
        ("\"@path\";name=\"a\"", "only fields have"), ("\"date\";name=\"a\"", "lower case"),
    ]

    @Test(arguments: faults)
    func `A part that has no certain value has no text`(fault: (components: String, words: String)) throws {
        let fields: HTTPFields = [
            .date: "today", .spelled("dict"): "a=1", .spelled("priority"): "=", .setCookie: "a=1", .setCookie: "b=2",
            .spelled("x-bytes"): "é",
        ]
        let request = HTTPRequest(
            method: .get, scheme: "https", authority: "a.example", path: "/?a=1&a=2", headerFields: fields)
        let member = try #require(try StructuredDictionary(parsing: "s=(\(fault.components))")["s"]?.innerList)
        let base = SignatureBase(components: member.map(SignatureComponent.init), parameters: [:])
        let error = try #require(throws: SignatureBaseError.self) {
            try base.text(for: SignedMessage(request: request))
        }
        #expect(error.fault.contains(fault.words), "\(error.fault)")
    }

    @Test func `The URL of a request counts, and not how it is written or its Host field`() throws {
        let request = HTTPRequest(
            method: .get, scheme: "HTTPS", authority: "API.Example:443", path: nil,
            headerFields: [.spelled("host"): "other.example"])
        let base = SignatureBase(
            components: [.targetURI, .authority, .scheme, .path, .query, .requestTarget, .queryParameter("a~ b")],
            parameters: [:])
        var message = SignedMessage(request: request)
        #expect(throws: SignatureBaseError.self) { try base.text(for: message) }
        message = SignedMessage(
            request: HTTPRequest(
                method: .get, scheme: "HTTPS", authority: "API.Example:443", path: "/?a%7e+b=~*", headerFields: [:]))
        #expect(
            try base.text(for: message).whole.hasPrefix(
                """
                "@target-uri": https://api.example/?a%7e+b=~*
                "@authority": api.example
                "@scheme": https
                "@path": /
                "@query": ?a%7e+b=~*
                "@request-target": /?a%7e+b=~*
                "@query-param";name="a%7E%20b": %7E*
                """))
    }

    /// A megabyte is refused before it is parsed; up to the limit, parsing takes time in proportion to the length.
    private static let parsers =
        [("", ""), ("sig1=(", ""), ("sig1=(", ")"), ("sig1=\"", "\"")].map { start, end in
            TimedParser(
                "Signature-Input from \(start)",
                [
                    "a", "\"a\" ", "\"@query-param\";name=\"a\" ", "\"a\";key=\"b\" ", ";a", "a=(),", ",", "\\\"", "(",
                    " ",
                ],
                from: start, to: end
            ) { text in
                let fields: HTTPFields = [.signatureInput: text, .signature: "sig1=:AA==:"]
                guard let signatures = try? ReceivedSignature.all(in: fields) else { return }
                let request = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/?a=1")
                for signature in signatures { _ = try? signature.base.text(for: SignedMessage(request: request)) }
            }
        } + [
            TimedParser("Content-Digest", ["sha-256=:AA==:,", "a", ",", "sha-512=\"", ":"]) { text in
                _ = ContentDigest(.contentDigest, in: [.contentDigest: text])
            },
            TimedParser("Trailer", ["a,", ",", " ", "Signature,"]) { text in
                _ = ([.trailer: text] as HTTPFields).announces(.contentDigest)
            },
        ]

    @Test(arguments: parsers) func `Twice the input takes twice the time`(parser: TimedParser) {
        parser.expectLinearTime()
    }
}
#endif
