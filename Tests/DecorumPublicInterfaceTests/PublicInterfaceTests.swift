import Decorum
import DecorumAuthentication
import DecorumConformance
import DecorumTesting
import DecorumTransfers
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A transport, a layer, two stores and a signer as an app builds them: this target sees no `package` declaration.
@Suite(.timeLimit(.minutes(1))) struct PublicInterfaceTests {
    private static let url = "https://api.example.com/"

    @Test func `A transport keeps deadlines and cancellation with the public kit, and closes`() async throws {
        let clock = VirtualClock()
        let transport = EchoConnection(clock: clock)
        let text = try await transport.send(.post(Self.url, body: "hello")).body.text(upTo: 100)
        #expect(text == "POST hello")

        var silent = try Request.get(Self.url + "silent")
        silent.options.deadline = clock.now + .seconds(5)
        let call = Task { [silent] in try await transport.send(silent) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: TransportError.self) { try await call.value }
        #expect(error?.code == .deadlineExceeded && error?.stage == .head)

        await transport.close()
        let refusal = await #expect(throws: TransportError.self) { try await transport.send(.get(Self.url)) }
        #expect(refusal?.code == .closed)
    }

    @Test(arguments: ["cancelledTask", "noTime"] as [TransportCase])
    func `A transport meets cases that need no socket`(rule: TransportCase) async throws {
        #expect(try await rule.check { EchoConnection(clock: $0.clock) } == .met)
    }

    @Test(arguments: [DecoratorLaw.idleness, .layerOrder, .declaredChanges, .requestFields, .errors])
    func `A layer keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check(adding: [.acceptLanguage]) { base in SpeakingConnection(base: base) }
    }

    @Test func `A store keeps responses`() async throws {
        let stub = StubConnection { _ in
            Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "news")
        }
        let store = OneResponse()
        let connection = stub.caching(in: store)
        for source in [ResponseMetadata.Source.stub, .cache] {
            let response = try await connection.send(.get(Self.url))
            #expect(response.metadata.source == source)
            #expect(try await response.body.text(upTo: 100) == "news")
        }
        await store.removeAllResponses()
        #expect(try await connection.send(.get(Self.url)).metadata.source == .stub)
    }

    @Test func `A store keeps tokens, which a source replaces`() async throws {
        let stub = StubConnection { request in
            let isNew = request.head.headerFields[.authorization] == "Bearer new"
            guard !isNew else { return Response(status: .ok) }
            return Response(status: .unauthorized, fields: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
        }
        let store = OneToken(try Token("old"))
        let tokens = Tokens(in: store, from: NewToken())
        let connection = stub.authenticating(with: tokens, for: try Origin(Self.url))
        #expect(try await connection.send(.get(Self.url)).status == .ok)
        #expect(try await store.token()?.accessToken == "new")
    }

    @Test func `An upload goes on by a protocol of the app`() async throws {
        let patches = Mutex([Data]())
        let stub = StubConnection { request in
            guard request.head.method == .patch else { return Response(status: .ok, fields: [.location: "/logs/1"]) }
            let content = try await request.body.data(upTo: 100)
            let isFirst = patches.withLock { patches in
                patches.append(content)
                return patches.count == 1
            }
            if isFirst { throw TransportError(.connectionLost, at: .head) }
            return Response(status: .created)
        }
        let response = try await stub.uploading(
            Body("hello"), to: .post(Self.url + "logs"), by: LogUpload(), clock: ImpatientClock()
        ).value
        #expect(
            response.status == .created && stub.requests.map(\.head.path) == ["/logs", "/logs/1", "/logs/1", "/logs/1"])
        #expect(patches.withLock { $0 } == [Data("hello".utf8), Data("lo".utf8)])
    }

    @Test func `A signer signs the request that is sent`() async throws {
        let stub = StubConnection(Response(status: .ok))
        let connection = stub.authenticating(with: .signer(LengthSigner()), for: try Origin(Self.url))
        _ = try await connection.send(.post(Self.url, body: "hello"))
        #expect(stub.requests.first?.head.headerFields[.authorization] == "Length 5")
        #expect(stub.requests.first?.options.secretFields == [.authorization])
    }
}

/// An upload whose server has always stored three bytes.
private struct LogUpload: UploadProtocol {
    let name = "log"

    func create(_ upload: inout Upload) async throws -> UploadStep {
        let response = try await upload.send(upload.request)
        try upload.locate(response.head.headerFields[.location], in: response)
        return .stored(0)
    }

    func offset(of upload: inout Upload) async throws -> UploadStep {
        _ = try await upload.send(upload.nextRequest(.head))
        return .stored(3)
    }

    func append(from offset: Int64, to upload: inout Upload) async throws -> UploadStep {
        let rest = upload.content(offset..<upload.length)
        return .finished(try await upload.send(upload.nextRequest(.patch, body: rest)))
    }

    func cancel(_ upload: inout Upload) async throws { _ = try await upload.send(upload.nextRequest(.delete)) }
}

/// Answers with the method and the content of the request; a request for `/silent` is never answered.
private struct EchoConnection: ClosableConnection {
    private let watch: TimeLimitWatch
    private let transfers = OpenTransfers()

    init(clock: any DatedClock) {
        watch = TimeLimitWatch(clock: clock)
    }

    var layers: [Layer] { [Layer(name: "EchoConnection", role: .transport)] }

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        try Task.checkCancellation()
        let origin = try Origin(request.head)
        let limits = try TransferLimits(request.options, idleTimeout: .seconds(60))
        try limits.check(at: watch.clock.now, for: origin)
        try transfers.begin()
        defer { transfers.end() }
        request.reportSending()
        guard request.head.path != "/silent" else { return try await EchoExchange.silent(limits, on: watch) }
        let content = try await request.body.text(upTo: 1 << 20)
        return Response(status: .ok, body: Body("\(request.head.method) \(content)"))
    }

    func close() async { await transfers.close() }
    func cancelAll() { watch.cancelAll() }
}

private final class EchoExchange: TransportExchange {
    private let limits: TransferLimits
    private let start: ContinuousClock.Instant
    private let state = Mutex<(continuation: CheckedContinuation<Response, any Error>?, isOver: Bool)>((nil, false))

    private init(_ limits: TransferLimits, start: ContinuousClock.Instant) {
        self.limits = limits
        self.start = start
    }

    static func silent(_ limits: TransferLimits, on watch: TimeLimitWatch) async throws -> Response {
        let exchange = EchoExchange(limits, start: watch.clock.now)
        watch.add(exchange)
        defer { watch.remove(exchange) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { exchange.wait($0) }
        } onCancel: {
            exchange.cancel()
        }
    }

    var timeLimit: TimeLimit? { limits.next(after: start, at: .head) }

    func timeOut(at limit: TimeLimit) { end(limits.error(at: limit, .head)) }
    func cancel() { end(CancellationError()) }

    private func wait(_ continuation: CheckedContinuation<Response, any Error>) {
        let isOver = state.withLock { state in
            if !state.isOver { state.continuation = continuation }
            return state.isOver
        }
        if isOver { continuation.resume(throwing: CancellationError()) }
    }

    private func end(_ error: any Error) {
        let continuation = state.withLock { state in
            state.isOver = true
            return state.continuation.take()
        }
        continuation?.resume(throwing: error)
    }
}

private struct SpeakingConnection<Base: Connection>: ComposedConnection {
    let base: Base

    var layer: Layer { Layer(name: "speaking", role: .preparation, facts: [.changesSignedParts]) }

    func send(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[.acceptLanguage] = "eo"
        return try await base.send(request)
    }
}

private actor OneResponse: ResponseStore {
    let bodyLimit = 1 << 20
    private let tickets = StoreTickets()
    private var kept: (key: ResponseKey, response: StoredResponse)?

    nonisolated func ticket(for key: ResponseKey) -> StoreTicket { tickets.ticket(for: key) }

    func responses(for key: ResponseKey) -> [StoredResponse] {
        kept.flatMap { $0.key == key ? [$0.response] : nil } ?? []
    }

    func store(_ response: StoredResponse, for key: ResponseKey, with ticket: StoreTicket) -> Bool {
        guard response.body.bytes != nil, tickets.isCurrent(ticket) else { return false }
        kept = (key, response)
        return true
    }

    func removeResponses(for key: ResponseKey) { removeAllResponses() }
    func removeResponses(at uri: ResponseKey.URI) { removeAllResponses() }
    func removeResponses(of principal: Principal?) { removeAllResponses() }

    func removeAllResponses() {
        tickets.withdrawAll()
        kept = nil
    }
}

private final class OneToken: TokenStore {
    private let kept: Mutex<Token?>

    init(_ token: Token) {
        kept = Mutex(token)
    }

    func token() async throws -> Token? { kept.withLock(\.self) }

    func replace(_ expected: Token?, with token: Token?) async throws -> Bool {
        kept.withLock { kept in
            guard kept == expected else { return false }
            kept = token
            return true
        }
    }

    func changes() -> AsyncStream<Token?> { AsyncStream { $0.finish() } }

    func exclusively<Result: Sendable>(
        _ work: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        try await work()
    }
}

private struct NewToken: TokenSource {
    let layers: [Layer] = []

    func token(replacing token: Token?) async throws -> Token { try Token("new") }
}

private struct LengthSigner: RequestSigner {
    let secretFields: Set<HTTPField.Name> = [.authorization]

    func sign(_ request: Request) async throws -> Request {
        var request = request
        request.head.headerFields[.authorization] = "Length \(request.body.length ?? 0)"
        return request
    }
}
