import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The requests that a server receives, and responses that the platform would act upon or that are read slowly.
@Suite(.timeLimit(.minutes(3))) struct URLSessionExchangeTests {
    let connection = URLSessionConnection()
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(nil, "*", "ok")
    }

    @Test(arguments: [HTTPRequest.Method.get, .head])
    func `GET and HEAD with content are refused before anything is sent`(method: HTTPRequest.Method) async throws {
        let request = try Request(method, origin.url + "/", body: "hello")

        let error = await #expect(throws: InvalidRequestError.self) { try await connection.send(request) }
        #expect(error?.reason == .invalidBody)
        #expect(origin.connectionCount == 0)
    }

    @Test func `A stream that pauses is sent whole, and delays no other request`() async throws {
        let gate = Gate()
        let body = Body(replay: .once) { _ in
            try await gate.wait()
            return try await Body("late").open()
        }
        let request = try Request.put(origin.url + "/", body: body)
        let task = Task { [connection] in try await connection.send(request) }
        try await gate.waitForWaiting(1)
        for connection in [connection, URLSessionConnection()] {
            #expect(try await connection.send(.get(origin.url + "/")).status == .ok)
        }
        gate.open()

        #expect(try await task.value.status == .ok)
        #expect(origin.requests.map(\.text) == ["", "", "late"])
    }

    #if canImport(FoundationNetworking)
    @Test(arguments: ["[::1]", "[::1]:80", "[fe80::1]"])
    func `An IPv6 address is refused before anything is sent`(authority: String) async throws {
        let error = await #expect(throws: InvalidRequestError.self) {
            try await connection.send(.get("http://\(authority)/"))
        }
        #expect(error?.reason == .invalidHost)
    }

    // On Apple's systems the length of a file is checked at its start only.
    @Test func `A file that becomes shorter while it is sent fails the request`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("short-\(origin.port)")
        defer { try? FileManager.default.removeItem(at: file) }
        try BytePattern.bytes(64 << 20).write(to: file)
        let gate = Gate()
        origin.enqueue(
            .script(.receive(atLeast: 1), .wait(gate), .receiveBody, .hang), answering: .afterHead)
        let request = try Request.put(origin.url + "/", body: Body(contentsOf: file))
        let task = Task { [connection] in try await connection.send(request) }
        try await gate.waitForWaiting(1)
        try FileHandle(forWritingTo: file).truncate(atOffset: 1 << 20)
        gate.open()

        let error = await #expect(throws: TransportError.self) { _ = try await task.value }
        #expect(error?.code == .unreadableBody)
        #expect(error?.underlying is BodyLengthError)
    }
    #endif

    enum Source: CaseIterable {
        case bytes, stream

        var body: Body {
            switch self {
            case .bytes: Body(BytePattern.bytes(16 << 20))
            case .stream: Body(replay: .once) { _ in try await Body(BytePattern.bytes(16 << 20)).open() }
            }
        }
    }

    @Test(arguments: Source.allCases, [HTTPResponse.Status.ok, .contentTooLarge])
    func `An answer is whole though the server does not read on`(
        source: Source, status: HTTPResponse.Status
    ) async throws {
        let gate = Gate()
        for text in ["early", ""] {
            let early = LoopbackOrigin.Answer.script(
                .receive(atLeast: 1), .head(status, ["Content-Length": "\(text.utf8.count)"]), .raw(text),
                .wait(gate), .reset)
            origin.route(.put, "/early/\(text)", answering: .afterHead, early)
            async let beside = connection.send(.get(origin.url + "/")).body.text(upTo: 10)

            let response = try await connection.send(.put(origin.url + "/early/\(text)", body: source.body))
            #expect(response.status == status)
            #expect(try await response.body.text(upTo: 10) == text)
            #expect(try await beside == "ok")
        }
        gate.open()
        #expect(try await connection.send(.get(origin.url + "/")).body.text(upTo: 10) == "ok")
    }

    private func response(
        to answer: LoopbackOrigin.Answer, as method: HTTPRequest.Method = .get
    ) async throws -> Response {
        origin.enqueue(answer)
        return try await connection.send(Request(method, origin.url + "/"))
    }

    @Test func `A 401 with a Basic challenge that is cut short is an error`() async throws {
        let response = try await response(
            to:
                .script(
                    .head(.unauthorized, ["WWW-Authenticate": "Basic", "Content-Length": "9"]), .raw("who"), .close))

        let error = await #expect(throws: TransportError.self) { try await response.body.data(upTo: 100) }
        #expect(error?.code == .truncated)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `A redirection to nowhere is a response`(code: Int) async throws {
        let response = try await response(to: .init(.init(code: code)))

        #expect(response.status.code == code)
        #expect(try await response.body.data(upTo: 100).isEmpty)
    }

    private func get() throws -> Request { try .get(origin.url + "/") }

    #if canImport(FoundationNetworking)
    // Where a slow reader holds the server back, the one connection stays busy, and nothing overflows.
    @Test func `A body whose reader is slow waits in the file and is read whole`() async throws {
        let connection = URLSessionConnection(connectionsPerHost: 1, backlog: .init(memory: 64 << 10))
        origin.enqueue(.generated(count: 8 << 20))
        let response = try await connection.send(get())
        // The one connection serves the next request once all of the first response has arrived.
        origin.enqueue(LoopbackOrigin.Answer())
        _ = try await connection.send(get())

        #expect(try await response.body.patternLength() == 8 << 20)
    }

    @Test func `A reader that is too far behind gets an error, and the transfer ends`() async throws {
        let connection = URLSessionConnection(backlog: .init(memory: 64 << 10, disk: 1 << 20))
        origin.enqueue(.generated(count: 1 << 40))
        let response = try await connection.send(get())
        try await origin.waitForOpenConnections(0)

        let error = await #expect(throws: TransportError.self) { try await response.body.data(upTo: .max) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.stage == .body)
    }
    #endif
}

extension Body {
    /// Reads the body and returns how many of its bytes belong to the pattern.
    fileprivate func patternLength() async throws -> Int64 {
        var offset: Int64 = 0
        for try await chunk in self {
            guard BytePattern.matches(chunk, at: offset) else { return offset }
            offset += Int64(chunk.count)
        }
        return offset
    }
}
