import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// What a signer may change, what it may not, and that its additions stay secret.
@Suite(.timeLimit(.minutes(3))) struct SignerPowersTests {
    private let api: Origin
    private let stub = StubConnection { _ in Response(status: .ok) }

    init() throws {
        api = try Origin("https://api.example.com")
    }

    private func log<Stack: Connection>(
        sending request: Request, through connection: (LogSink) throws -> Stack
    ) async throws -> String {
        let lines = Kept<String>()
        let sink = LogSink { lines.keep($0) }
        _ = try await connection(sink).send(request)
        return lines.all.joined(separator: "\n")
    }

    @Test func `A presigned query is sent, and no layer shows its values`() async throws {
        let request = try Request.get("https://api.example.com/file?part=7#top")
        let seen = Kept<Request>()
        let text = try await log(sending: request) { sink in
            stub.intercepting { request, base in
                seen.keep(copy request)
                return try await base.send(request)
            }
            .logging(to: sink, detail: .fields)
            .authenticating(with: .signer(QuerySigner()), for: api)
            .logging(to: sink, detail: .fields)
        }
        let path = "/file?part=7&Zeit=now&Beleg=hunter2"
        #expect(stub.requests.map(\.head.path) == [path])
        #expect(stub.requests[0].options.secretQueryItems == ["Zeit", "Beleg"])
        #expect(text.contains("/file?part=7&Zeit=REDACTED&Beleg=REDACTED"))
        #expect(!text.contains("hunter2"))
        let sent = try #require(seen.all.first)
        var shown = "\(sent) \(String(reflecting: sent)) \(sent.options)"
        dump(sent, to: &shown)
        #expect(!shown.contains("hunter2"))
    }

    @Test func `A server that repeats the query in Location shows it in no log`() async throws {
        let stub = StubConnection { request in
            let path = request.head.path ?? ""
            guard path.hasPrefix("/file?") else { return Response(status: .ok) }
            return Response(
                head: HTTPResponse(
                    status: .permanentRedirect, headerFields: [.location: path.replacing("/file?", with: "/file/?")]),
                metadata: ResponseMetadata(answering: request, from: .stub))
        }
        let text = try await log(sending: .get("https://api.example.com/file?part=7")) { sink in
            stub.authenticating(with: .signer(QuerySigner()), for: api)
                .logging(to: sink, detail: .fields)
                .followingRedirects()
                .logging(to: sink, detail: .fields)
        }
        #expect(text.contains("/file/?part=7&Zeit=REDACTED&Beleg=REDACTED"))
        #expect(!text.contains("hunter2"))
    }

    @Test func `The caller and the layers further out know the URL without its signature`() async throws {
        let stub = StubConnection {
            Response(head: HTTPResponse(status: .notFound), metadata: ResponseMetadata(answering: $0, from: .stub))
        }
        let connection = stub.authenticating(with: .signer(QuerySigner()), for: api)
        let response = try await connection.send(.get("https://api.example.com/file?part=7#top"))
        #expect(response.metadata.url?.absoluteString == "https://api.example.com/file?part=7#top")
        let error = try await #require(throws: StatusError.self) {
            try await connection.validatingStatus().send(.get("https://api.example.com/file"))
        }
        var shown = "\(error) \(String(reflecting: error)) \(response.metadata)"
        dump(error, to: &shown)
        #expect(!shown.contains("hunter2"))
    }

    @Test func `An item that was there already is not secret, and one that is there twice is`() async throws {
        let connection = stub.authenticating(with: .signer(QuerySigner()), for: api)
        _ = try await connection.send(.get("https://api.example.com/?Beleg=own"))
        _ = try await connection.send(.get("https://api.example.com/?a=1&a=1"))
        #expect(stub.requests[0].options.secretQueryItems == ["Zeit", "Beleg"])
        #expect(stub.requests[1].options.secretQueryItems == ["Zeit", "Beleg"])
    }

    @Test func `Each field that signing adds is declared secret, unless its name is harmless`() async throws {
        let names = try ["X-Beleg", "X-Amz-Date"].map { try #require(HTTPField.Name($0)) }
        let signer = ClosureSigner { request in
            var request = request
            request.head.headerFields[names[0]] = "hunter2"
            request.head.headerFields[names[1]] = "20260101T000000Z"
            request.head.headerFields[.date] = "today"
            request.head.headerFields[.userAgent] = "Bearer hunter2hunter2hunter2"
            return request
        }
        let text = try await log(sending: .get("https://api.example.com/", fields: [.accept: "*/*"])) { sink in
            stub.logging(to: sink, detail: .fields).authenticating(with: .signer(signer), for: api)
        }
        #expect(stub.requests[0].options.secretFields == [names[0], .userAgent])
        #expect(!text.contains("hunter2"))
        #expect(text.contains("20260101T000000Z") && text.contains("today") && text.contains("*/*"))
    }

    @Test func `A signer cannot send its credentials to another origin, or change the method`() async throws {
        let changes: [@Sendable (inout HTTPRequest) -> Void] = [
            { $0.authority = "evil.example" }, { $0.scheme = "http" }, { $0.authority = "api.example.com:8443" },
            { $0.authority = nil }, { $0.method = .delete },
        ]
        for change in changes {
            let signer = ClosureSigner { request in
                var request = request
                change(&request.head)
                return request
            }
            let error = try await #require(throws: InvalidRequestError.self) {
                try await stub.authenticating(with: .signer(signer), for: api).send(.get("https://api.example.com/"))
            }
            #expect(error.reason == .changedBySigner)
        }
        #expect(stub.requests.isEmpty)
        let signer = ClosureSigner { request in
            var request = request
            request.head.authority = "API.example.com:443"
            return request
        }
        _ = try await stub.authenticating(with: .signer(signer), for: api).send(.get("https://api.example.com/"))
        #expect(stub.requests.count == 1)
    }

    @Test func `A signer that builds a new request loses no option`() async throws {
        let signer = ClosureSigner { request in
            var signed = Request(head: request.head, body: request.body)
            signed.head.headerFields[.authorization] = "signature"
            signed.options.secretFields = [.accept]
            return signed
        }
        var request = try Request.post("https://api.example.com/", body: "content")
        request.options.principal = Principal("ann")
        request.options.routeName = "items"
        request.options.secretFields = [.cookie]
        _ = try await stub.authenticating(with: .signer(signer), for: api).send(request)
        let options = stub.requests[0].options
        #expect(options.principal == Principal("ann") && options.routeName == "items")
        #expect(options.secretFields == [.cookie, .accept, .authorization])
    }

    @Test func `A signer may sign the content chunk by chunk, with a trailer field`() async throws {
        let name = try #require(HTTPField.Name("X-Chain"))
        let signer = ClosureSigner { request in
            var request = request
            let body = request.body
            request.body = Body(length: nil, replay: body.replay) { offset in
                ChainReader(reader: try await body.open(at: offset), name: name)
            }
            return request
        }
        let stub = StubConnection { request in
            let (data, trailers) = try await request.body.collect(upTo: 1000)
            return Response(status: .ok, fields: [name: trailers[name] ?? "none"], body: Body(data))
        }
        let response = try await stub.authenticating(with: .signer(signer), for: api)
            .send(.post("https://api.example.com/", body: "abc"))
        #expect(try await response.body.text(upTo: 100) == "[abc]")
        #expect(response.head.headerFields[name] == "sum 294")
    }

    @Test func `A signer learns from the response, such as the server's clock, and signs the next attempt with it`()
        async throws
    {
        let signer = SkewedSigner()
        let stub = StubConnection { request in
            request.head.headerFields[.date] == "1000"
                ? Response(status: .ok) : Response(status: .forbidden, fields: [.date: "1000"])
        }
        let connection = stub.authenticating(with: .signer(signer), for: api)
            .intercepting { request, base in
                let request = request
                let response = try await base.send(request)
                return response.status == .forbidden ? try await base.send(request) : response
            }
        #expect(try await connection.send(.get("https://api.example.com/")).status == .ok)
        #expect(stub.requests.map { $0.head.headerFields[.date] } == ["0", "1000"])
        _ = try await connection.send(.get("https://other.example/"))
        #expect(signer.answers.all.map(\.head.status) == [.forbidden, .ok])
        #expect(signer.answers.all.allSatisfy { $0.request.headerFields[.authorization] == "signature" })
    }

    @Test func `A cassette holds no value of a presigned query, and plays it whatever the signature is`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "presigned-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "file.json")
        let request = try Request.get("https://api.example.com/file?part=7")
        let live = StubConnection { request in
            Response(status: .ok, fields: [.contentLocation: request.head.path ?? ""], body: "content")
        }
        let recording = try Cassette(at: file.path, mode: .rewrite)
        let recorder = live.recording(on: recording).authenticating(with: .signer(QuerySigner()), for: api)
        #expect(try await recorder.send(request).body.text(upTo: 10) == "content")
        try await recording.finish()

        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.contains("part=7") && !text.contains("hunter2"))
        let playing = try Cassette(at: file.path, mode: .replay)
        let player = StubConnection().recording(on: playing)
            .authenticating(with: .signer(QuerySigner(proof: "another")), for: api)
        #expect(try await player.send(request).body.text(upTo: 10) == "content")
    }
}

/// Signs by two items of the query, under names that no list of secrets has.
private struct QuerySigner: RequestSigner {
    var proof = "hunter2"
    let secretFields: Set<HTTPField.Name> = []

    func sign(_ request: Request) -> Request {
        var request = request
        let path = request.head.path ?? "/"
        request.head.path = path + (path.contains("?") ? "&" : "?") + "Zeit=now&Beleg=\(proof)"
        return request
    }
}

private struct ClosureSigner: RequestSigner {
    let secretFields: Set<HTTPField.Name> = []
    let change: @Sendable (Request) throws -> Request

    func sign(_ request: Request) throws -> Request { try change(request) }
}

/// Knows the server's time only from its responses.
private final class SkewedSigner: RequestSigner {
    let secretFields: Set<HTTPField.Name> = [.authorization]
    let answers = Kept<AuthenticationAnswer>()
    private let date = Mutex("0")

    func sign(_ request: Request) -> Request {
        var request = request
        request.head.headerFields[.date] = date.withLock { $0 }
        request.head.headerFields[.authorization] = "signature"
        return request
    }

    func learn(from answer: AuthenticationAnswer) {
        answers.keep(answer)
        if let date = answer.head.headerFields[.date] { self.date.withLock { $0 = date } }
    }
}

/// Puts each chunk into brackets, and the sum of the bytes into a trailer field.
private struct ChainReader: BodyReader {
    var reader: any BodyReader
    let name: HTTPField.Name
    var sum = 0

    mutating func next() async throws -> Data? {
        guard let chunk = try await reader.next() else { return nil }
        sum += chunk.reduce(0) { $0 + Int($1) }
        return Data("[".utf8) + chunk + Data("]".utf8)
    }

    var trailers: HTTPFields? { [name: "sum \(sum)"] }
}
