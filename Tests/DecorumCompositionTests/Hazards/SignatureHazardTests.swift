import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Signatures that do not fit the request that is sent: the harm on the wire, the finding, and the mended stack.
@Suite(.timeLimit(.minutes(3))) struct SignatureHazardTests {
    private let clock = ImpatientClock()

    private func signing(_ base: some Connection) -> some Connection {
        base.authenticating(with: .signer(VisibleSigner(clock: clock)), for: site)
    }

    @Test func `All attempts have the nonce of one signature`() async throws {
        let (once, anew) = (StubConnection { _ in .busy }, StubConnection { _ in .busy })
        let policy = RetryPolicy(retries: 2, budget: .perCall(2))
        let wrong = signing(once.retrying(policy, clock: clock))
        let mended = signing(anew).retrying(policy, clock: clock)

        _ = try await wrong.send(.page)
        _ = try await mended.send(.page)

        #expect(once.requests.count == 3 && Set(once.values(of: .authorization)).count == 1)
        #expect(anew.requests.count == 3 && Set(anew.values(of: .authorization)).count == 3)
        expectFinding(
            of: "signatureOutsideOfRetries", in: wrong, naming: ["authenticating", "retrying"], notIn: mended)
    }

    @Test func `A signature of one path is sent to another`() async throws {
        let server = { @Sendable (request: Request) -> Response in
            request.head.path == "/" ? .redirection(to: "/2") : .page
        }
        let (old, new) = (StubConnection(server), StubConnection(server))
        let wrong = signing(old.followingRedirects())
        let mended = signing(new).followingRedirects()

        _ = try await wrong.send(.page)
        _ = try await mended.send(.page)

        #expect(old.values(of: .authorization).last??.hasPrefix("path=/ ") == true)
        #expect(new.values(of: .authorization).last??.hasPrefix("path=/2 ") == true)
        expectFinding(
            of: "signatureOutsideOfRedirections", in: wrong, naming: ["authenticating", "followingRedirects"],
            notIn: mended)
    }

    @Test func `A signature grows old while the server asks for a pause`() async throws {
        let pause = Response(status: .serviceUnavailable, fields: [.retryAfter: "30"])
        for isWrong in [true, false] {
            let clock = ImpatientClock()
            let stub = StubConnection(
                answers: [{ _ in pause }],
                then: { request in
                    let date = Int(clock.date.timeIntervalSince1970)
                    let isNew = request.head.headerFields[.authorization]?.contains("date=\(date) ") == true
                    return Response(status: isNew ? .ok : .forbidden)
                })
            let signer = Credentials.signer(VisibleSigner(clock: clock))
            let wrong = stub.pacing(clock: clock).authenticating(with: signer, for: site)
            let mended = stub.authenticating(with: signer, for: site).pacing(clock: clock)

            let connection: any Connection = isWrong ? wrong : mended
            _ = try await connection.send(.page)
            #expect(try await connection.send(.page).status == (isWrong ? .forbidden : .ok))
            expectFinding(
                of: "signatureOutsideOfWaits", in: wrong, naming: ["authenticating", "pacing"], notIn: mended)
        }
    }

    @Test func `A signature does not cover what is added further in`() async throws {
        let (uncovered, covered) = (StubConnection { _ in .page }, StubConnection { _ in .page })
        let wrong = signing(try uncovered.acceptingLanguages(["en"]).addingRequestID())
        let mended = try signing(covered).acceptingLanguages(["en"]).addingRequestID()

        _ = try await wrong.send(.page)
        _ = try await mended.send(.page)

        #expect(uncovered.values(of: .authorization).first??.contains("names= ") == true)
        #expect(covered.values(of: .authorization).first??.contains("names=accept-language x-request-id ") == true)
        expectFinding(
            of: "signatureOutsideOfChanges", in: wrong,
            naming: ["authenticating", "addingRequestID", "acceptingLanguages"], notIn: mended)
    }

    @Test(arguments: ["caching", "compressing", "decompressing", "resolving", "intercepting"])
    func `Each layer that changes requests belongs outside of a signer`(name: String) throws {
        let stub = StubConnection()
        let changing: any Connection =
            switch name {
            case "caching": stub.caching(in: MemoryResponseStore())
            case "compressing": stub.compressing()
            case "decompressing": stub.decompressing()
            case "resolving": try stub.resolving(against: "https://a.example/")
            default: stub.intercepting(facts: [.changesSignedParts]) { try await $1.send($0) }
            }
        let found = signing(changing).findings.first { $0.hazard == "signatureOutsideOfChanges" }
        #expect(found?.places.map(\.layer.name) == ["authenticating", name])
    }

    @Test func `A digest is of other content than what is sent`() async throws {
        // The length stands for the digest.
        func digesting(_ base: some Connection) -> some Connection {
            base.intercepting("digesting", facts: [.digestsContent]) { request, base in
                var request = request
                request.head.headerFields[.eTag] = request.body.length?.description
                return try await base.send(request)
            }
        }
        let (other, same) = (StubConnection { _ in .page }, StubConnection { _ in .page })
        let wrong = digesting(other.compressing())
        let mended = digesting(same).compressing()
        let content = Body(Data(count: 10_000))

        _ = try await wrong.send(.post("https://a.example/", body: content))
        _ = try await mended.send(.post("https://a.example/", body: content))

        for (stub, isRight) in [(other, false), (same, true)] {
            let length = try await stub.requests[0].body.data(upTo: 10_000).count
            #expect((stub.values(of: .eTag) == ["\(length)"]) == isRight)
        }
        expectFinding(of: "digestOutsideOfChanges", in: wrong, naming: ["digesting", "compressing"], notIn: mended)
    }

    @Test func `A transport leaves out the trailer fields that hold a signature`() async throws {
        let server = try LoopbackOrigin()
        server.route(.put, "/", "stored")
        let signer = Credentials.signer(TrailerSigner())
        let wrong = try URLSessionConnection().authenticating(with: signer, for: Origin(server.url))
        let mended = try TrailerSender().authenticating(with: signer, for: Origin(server.url))

        _ = try await wrong.send(.put(server.url, body: "content"))
        #expect(try await server.waitForRequests(1)[0].trailers.lines.isEmpty)
        #expect(try await mended.send(.put(server.url, body: "content")).head.headerFields == [.eTag: "1"])
        expectFinding(
            of: "trailersNotSent", in: wrong, naming: ["authenticating", "URLSessionConnection"], notIn: mended)
        // A stub and a cassette send nothing.
        let stub = StubConnection().authenticating(with: signer, for: site)
        #expect(!stub.findings.contains { $0.hazard == "trailersNotSent" })
    }

    #if os(Linux)
    @Test func `libcurl sends trailer fields, but not over HTTP/2`() throws {
        #expect(try CurlConnection().layers[0].facts.contains(.sendsTrailers))
        #expect(try !CurlConnection(protocols: .http2).layers[0].facts.contains(.sendsTrailers))
    }
    #endif
}

private struct TrailerSigner: RequestSigner {
    let secretFields: Set<HTTPField.Name> = []
    let facts: Set<Layer.Fact> = [.needsTrailers]

    func sign(_ request: Request) -> Request {
        var request = request
        request.body = request.body.folding(0) { _, _ in
        } trailers: { _, _ in
            [.eTag: "1"]
        }
        return request
    }
}

/// Answers with the trailer fields of the request.
private struct TrailerSender: Connection {
    let layers = [Layer(name: "TrailerSender", role: .transport, facts: [.sendsTrailers])]

    func send(_ request: consuming Request) async throws -> Response {
        Response(status: .ok, fields: try await request.body.collect(upTo: 100).trailers)
    }
}
