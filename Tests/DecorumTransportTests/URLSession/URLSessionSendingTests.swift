import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The requests that a server receives, and content whose source pauses, changes or is cancelled.
@Suite(.timeLimit(.minutes(3))) struct URLSessionSendingTests {
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

    @Test func `Fields of the request replace the automatic ones`() async throws {
        let fields: HTTPFields = [
            .userAgent: "me/1", .accept: "a/b", .acceptLanguage: "eo", .acceptEncoding: "identity",
            .contentType: "text/plain", .connection: "close", .authorization: "Basic YTpi",
            try #require(.init("X-Empty")): "", try #require(.init("X-Text")): "na\u{EF}ve \u{1F36A}",
        ]
        try await connection.send(.post(origin.url + "/", fields: fields, body: "x")).body.drain(upTo: 10)

        let received = try #require(origin.requests.last)
        for field in fields { #expect(received.fields.values(of: field.name.rawName) == [field.value]) }
    }

    @Test func `The layers name the transport and its settings`() {
        let connection = URLSessionConnection(
            connectionsPerHost: -3, idleTimeout: .seconds(5), backlog: .init(memory: -1, disk: 7))

        #expect(connection.layers.map(\.role) == [.transport])
        #expect(connection.layers.first?.name == "URLSessionConnection")
        #expect(
            connection.layers.first?.settings.map(\.value) == ["1", "5.0 seconds", "0 bytes in memory, 7 on disk"])
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
}
