#if Signing
import Crypto
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// RFC 9421, section 3.2.
@Suite(.timeLimit(.minutes(3))) struct VerifyingSignaturesTests {
    private static let now = 1_618_884_473
    private let key = Curve25519.Signing.PrivateKey()
    private let clock = VirtualClock(date: Date(timeIntervalSince1970: TimeInterval(now)))

    private func keys(_ id: String?) -> VerifyingKey? {
        switch id {
        case "key-1": .ed25519(key.publicKey)
        case "key-2": .p256(P256.Signing.PrivateKey().publicKey)
        default: nil
        }
    }

    private func send(
        _ response: Response, _ policy: SignatureVerificationPolicy = .standard, to request: Request? = nil
    ) async throws -> Response {
        let connection = StubConnection(response).verifyingSignatures(policy, clock: clock) { keys($0) }
        return try await connection.send(request ?? .get("https://a.example/b?c=d"))
    }

    /// A response with a signature of the key.
    private func signed(
        _ input: String = "(\"@status\");created=\(now);keyid=\"key-1\"", label: String = "s",
        fields: HTTPFields = [:], trailers: HTTPFields? = nil, body: Body = .empty
    ) throws -> Response {
        var response = Response(status: .ok, fields: fields, body: body)
        let member = try #require(try StructuredDictionary(parsing: "s=" + input)["s"])
        let components = member.innerList?.map(SignatureComponent.init) ?? []
        let head = try Request.get("https://a.example/b?c=d").head
        let message = SignedMessage(request: head, response: response.head, trailers: trailers)
        let text = try SignatureBase(components: components, parameters: member.parameters).text(for: message).whole
        response.addSignature(label, input, try key.signature(for: Data(text.utf8)))
        return response
    }

    @Test(arguments: SignatureExample.signed.filter { $0.response != nil })
    func `The responses of the RFC are accepted, and no others`(example: SignatureExample) async throws {
        let (label, components, parameters) = try example.member
        let date = Date(timeIntervalSince1970: Double(try #require(parameters["created"]?.integer)))
        var response = Response(head: try #require(try example.responseHead), body: Body(Data(count: 23)))
        let input = String(example.input.dropFirst(label.count + 1))
        response.addSignature(label, input, try #require(Data(base64Encoded: example.signature ?? "")))
        var policy = SignatureVerificationPolicy(covering: components)
        policy.maximumAge = .zero
        let connection = StubConnection { [response] request in
            var response = response
            if request.head.path == "/other" { response.head.headerFields[.contentType] = "text/plain" }
            return response
        }.verifyingSignatures(policy, clock: VirtualClock(date: date)) { id in try ExampleKey.named(id ?? "").verifying
        }

        var request = Request(head: try example.requestHead)
        _ = try await connection.send(request)
        request.head.path = "/other"
        await #expect(throws: SigningError.self) { try await connection.send(request) }
    }

    @Test func `A signature that does not hold is refused`() async throws {
        let valid = try signed()
        var altered = valid
        altered.status = .accepted
        var unsigned = valid
        unsigned.head.headerFields[.signature] = nil
        var malformed = valid
        malformed.head.headerFields[.signatureInput] = "s=("
        var wrongType = valid
        wrongType.head.headerFields[.signature] = "s=\"AAAA\""
        var twice = valid
        twice.head.headerFields[.signatureInput] = (valid.head.headerFields[.signatureInput] ?? "") + ", s=()"
        var long = valid
        long.head.headerFields[.signatureInput] = "s=(" + String(repeating: "\"a\" ", count: 1 << 18) + ")"
        let many = String(repeating: "\"@status\" ", count: 101)
        let parameters = ";created=\(Self.now);keyid=\"key-1\""
        let content = Body("content")
        let digest: HTTPFields = [.contentDigest: "md5=:AAAA:"]
        let md5 = "(\"@status\" \"content-digest\";key=\"md5\")"
        let tr = "(\"@status\" \"content-digest\";tr)" + parameters
        let stream = Body(replay: .once) { _ in Pieces(rest: ["a"], trailers: digest) }
        let stripped = try signed(tr, trailers: digest, body: stream)
        let cases: [(Response, SigningError.Reason, String)] = [
            (Response(status: .ok), .missingSignature, "has no signature"),
            (altered, .invalidSignature, "does not belong"),
            (unsigned, .invalidSignature, "belong together"), (malformed, .invalidSignature, "as RFC 9421 writes"),
            (wrongType, .invalidSignature, "as RFC 9421 writes"), (twice, .invalidSignature, "occurs twice"),
            (long, .invalidSignature, "too long"), (unchecked("(\(many))\(parameters)"), .invalidSignature, "too many"),
            (try signed("();keyid=\"key-1\""), .invalidSignature, "no date"),
            (try signed("()" + parameters), .invalidSignature, "what it must"),
            (try signed("(\"@status\")\(parameters)", body: content), .invalidSignature, "digest of the content"),
            // Neither is compared with the content, so that it could be any.
            (try signed(md5 + parameters, fields: digest, body: content), .invalidSignature, "digest of the content"),
            (stripped, .invalidSignature, "digest of the content"),
            (try signed("(\"@status\");created=\(Self.now - 306);keyid=\"key-1\""), .invalidSignature, "too old"),
            (try signed("(\"@status\");created=\(Self.now + 6);keyid=\"key-1\""), .invalidSignature, "future"),
            (try signed("(\"@status\")\(parameters);expires=\(Self.now - 6)"), .invalidSignature, "expired"),
            (try signed("(\"@status\");created=999999999999999;keyid=\"key-1\""), .invalidSignature, "future"),
            (try signed("(\"@status\");created=\"1\";keyid=\"key-1\""), .invalidSignature, "wrong type"),
            (try signed("(\"@status\");created=\(Self.now);keyid=1"), .invalidSignature, "wrong type"),
            (try signed("(\"@status\");created=\(Self.now)"), .invalidSignature, "no key"),
            (try signed("(\"@status\");created=\(Self.now);keyid=\"key-9\""), .invalidSignature, "no key"),
            (try signed("(\"@status\");created=\(Self.now);keyid=\"key-2\""), .invalidSignature, "does not belong"),
            (try signed("(\"@status\")\(parameters);alg=\"none\""), .invalidSignature, "another algorithm"),
            (try signed("(\"@status\")\(parameters);alg=\"hmac-sha256\""), .invalidSignature, "another algorithm"),
            (unchecked("(\"@status\" \"date\")\(parameters)"), .invalidSignature, "not among the fields"),
            (unchecked("(\"@status\" \"@status\")\(parameters)"), .invalidSignature, "named twice"),
            (unchecked("(\"@status\" \"@method\")\(parameters)"), .invalidSignature, "requests only"),
            (unchecked("(\"@status\" \"date\";req;tr)\(parameters)", [.date: "today"]), .invalidSignature, "trailer"),
        ]
        for (response, reason, words) in cases {
            let error = try await #require(throws: SigningError.self, "\(words)") {
                let response = try await send(response)
                // What covers trailer fields is checked behind the content.
                _ = try await response.body.data(upTo: 100)
            }
            #expect(error.reason == reason && error.description.contains(words), "\(words): \(error)")
        }
        _ = try await send(valid)
        _ = try await send(signed("(\"@status\");created=\(Self.now - 300);keyid=\"key-1\";alg=\"ed25519\";other=1"))
    }

    private func unchecked(_ input: String, _ fields: HTTPFields = [:]) -> Response {
        var response = Response(status: .ok, fields: fields)
        response.addSignature("s", input, Data(count: 64))
        return response
    }

    @Test func `One of the signatures that are admitted has to be valid`() async throws {
        let parameters = ";created=\(Self.now);keyid=\"key-1\""
        var response = try signed("(\"@status\")\(parameters);tag=\"a\"", label: "a")
        response.addSignature("b", "(\"@status\")\(parameters);tag=\"b\"", Data(count: 64))
        var policy = SignatureVerificationPolicy.standard
        _ = try await send(response, policy)
        policy.tag = "a"
        policy.label = "a"
        policy.keyID = "key-1"
        policy.maximumAge = .seconds(Int64.max)
        policy.tolerance = .seconds(Int64.max)
        _ = try await send(response, policy)
        let refusing: [(inout SignatureVerificationPolicy) -> Void] = [
            { $0.tag = "c" }, { $0.label = "c" }, { $0.keyID = "c" }, { $0.tag = "b" }, { $0.label = "b" },
        ]
        for change in refusing {
            var policy = policy
            change(&policy)
            await #expect(throws: SigningError.self) { try await send(response, policy) }
        }
        // Of many, only the first are tried.
        for (count, isAccepted) in [(7, true), (8, false)] {
            var response = Response(status: .ok)
            for number in 0..<count {
                response.addSignature("n\(number)", "(\"@status\")\(parameters)", Data(count: 64))
            }
            let last = try signed().head.headerFields
            response.head.headerFields.append(HTTPField(name: .signatureInput, value: last[.signatureInput] ?? ""))
            response.head.headerFields.append(HTTPField(name: .signature, value: last[.signature] ?? ""))
            let outcome = await Result { [response] in try await send(response) }
            let isValid = (try? outcome.get()) != nil
            #expect(isValid == isAccepted)
        }
    }

    @Test func `Parts of the request, and structured fields, are covered`() async throws {
        let fields: HTTPFields = [.spelled("x-list"): "a,b", .spelled("x-map"): "a=1;b,  c"]
        var policy = SignatureVerificationPolicy(covering: [.status, .method.ofRequest, .queryParameter("c").ofRequest])
        policy.fieldTypes = [.spelled("X-List"): .list]
        let covered = "\"@status\" \"@method\";req \"@query-param\";name=\"c\";req \"x-map\";key=\"a\""
        let response = try signed("(\(covered));created=\(Self.now);keyid=\"key-1\"", fields: fields)
        _ = try await send(response, policy)
        await #expect(throws: SigningError.self) {
            try await send(response, policy, to: .get("https://a.example/b?c=e"))
        }
        await #expect(throws: SigningError.self) {
            try await send(response, policy, to: Request(.post, "https://a.example/b?c=d"))
        }
        var base = SignatureBase(components: [.field(.spelled("x-list")).asStructuredField()], parameters: [:])
        let message = SignedMessage(request: try Request.get("https://a.example/").head, response: response.head)
        #expect(throws: SignatureBaseError.self) { try base.text(for: message) }
        base.types = ["x-list": .list]
        #expect(try base.text(for: message).whole.hasPrefix("\"x-list\";sf: a, b\n"))
    }

    @Test(arguments: [true, false])
    func `A signature that covers trailer fields, or is one, is checked behind the content`(isValid: Bool) async throws
    {
        let trailers: HTTPFields = [.eTag: "1"]
        let input = "(\"@status\" \"etag\";tr);created=\(Self.now);keyid=\"key-1\""
        var policy = SignatureVerificationPolicy.standard
        policy.coversContent = false
        func body(_ trailers: HTTPFields) -> Body {
            Body(replay: .once) { _ in Pieces(rest: ["a", "b"], trailers: isValid ? trailers : [.eTag: "2"]) }
        }
        var inHead = try signed(input, trailers: trailers, body: body(trailers))
        var inTrailer = inHead
        let fields = inHead.head.headerFields
        inTrailer.head.headerFields = [.trailer: "ETag, signature-input, Signature"]
        inTrailer.body = body(trailers.merging(fields))
        inHead.body = body(trailers)
        for response in [inHead, inTrailer] {
            var reader = try await send(response, policy).body.open()
            #expect(try await reader.next() == Data("a".utf8))
            #expect(try await reader.next() == Data("b".utf8))
            if isValid {
                #expect(try await reader.next() == nil)
                #expect(reader.trailers?[.eTag] == "1")
            } else {
                for _ in 0..<2 { await #expect(throws: SigningError.self) { try await reader.next() } }
            }
        }
    }

    @Test func `The error of the look-up of a key, and cancellation, reach the caller`() async throws {
        let stub = StubConnection { [response = try signed()] _ in response }
        let failing = stub.verifyingSignatures(clock: clock) { _ in throw CocoaError(.fileNoSuchFile) }
        await #expect(throws: CocoaError.self) { try await failing.send(.get("https://a.example/")) }
        let gate = Gate()
        let waiting = stub.verifyingSignatures(clock: clock) { _ in
            try await gate.wait()
            return nil
        }
        let call = Task { try await waiting.send(.get("https://a.example/")) }
        try await gate.waitForWaiting(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }
}

extension Response {
    /// Adds a signature, as it is.
    mutating func addSignature(_ label: String, _ input: String, _ signature: Data) {
        head.headerFields.append(HTTPField(name: .signatureInput, value: "\(label)=\(input)"))
        head.headerFields.append(HTTPField(name: .signature, value: "\(label)=:\(signature.base64EncodedString()):"))
    }
}

extension HTTPFields {
    fileprivate func merging(_ other: HTTPFields) -> HTTPFields { HTTPFields(self + other) }
}

private struct Pieces: BodyReader {
    var rest: ArraySlice<String>
    let trailers: HTTPFields?

    mutating func next() async throws -> Data? { rest.popFirst().map { Data($0.utf8) } }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
#endif
