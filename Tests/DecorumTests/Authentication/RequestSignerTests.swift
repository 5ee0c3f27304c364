import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct RequestSignerTests {
    let clock = VirtualClock(date: Date(timeIntervalSince1970: 1000))

    private func signing(_ stub: StubConnection) throws -> some Connection {
        stub.authenticating(with: .signer(LineSigner(clock: clock)), for: try Origin("https://api.example.com"))
    }

    @Test func `A signer sees the request and sets its fields`() async throws {
        let stub = StubConnection(Response(status: .ok))
        let request = try Request.post("https://api.example.com/items?page=2", body: "content")
        _ = try await signing(stub).send(request)

        let fields = stub.requests[0].head.headerFields
        #expect(fields[.authorization] == "Line POST /items?page=2 1000 7")
        #expect(fields[.date] == "1000")
        #expect(try await stub.requests[0].body.text(upTo: 10) == "content")
        #expect(stub.requests[0].options.secretFields == [.authorization])
    }

    @Test func `Each attempt is signed anew`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable), Response(status: .ok))
        let connection = try signing(stub).intercepting { [clock] request, base in
            let request = request
            _ = try await base.send(request)
            clock.advance(by: .seconds(1))
            return try await base.send(request)
        }
        let response = try await connection.send(.get("https://api.example.com/"))

        #expect(response.status == .ok)
        #expect(stub.requests.map { $0.head.headerFields[.date] } == ["1000", "1001"])
        #expect(
            stub.requests.map { $0.head.headerFields[.authorization] } == ["Line GET / 1000 0", "Line GET / 1001 0"])
    }

    @Test func `A request to another origin or with a signature does not reach the signer`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = try signing(stub)

        _ = try await connection.send(.get("https://evil.example/"))
        _ = try await connection.send(.get("https://api.example.com/", fields: [.authorization: "own"]))

        #expect(stub.requests.map { $0.head.headerFields[.authorization] } == [nil, "own"])
        #expect(stub.requests.map { $0.head.headerFields[.date] } == [nil, nil])
    }

    @Test func `A signer's error reaches the caller, and nothing is sent`() async throws {
        let stub = StubConnection()
        let connection = stub.authenticating(with: .signer(FailingSigner()), for: try Origin("https://api.example.com"))
        await #expect(throws: FailingSigner.LockedKeychainError.self) {
            try await connection.send(.get("https://api.example.com/"))
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func `A signer may read a body that can be read again`() async throws {
        let stub = StubConnection { Response(status: .ok, body: Body(try await $0.body.data(upTo: 10))) }
        let connection = stub.authenticating(with: .signer(SumSigner()), for: try Origin("https://api.example.com"))
        let response = try await connection.send(.post("https://api.example.com/", body: "\u{1}\u{2}\u{3}"))

        #expect(stub.requests[0].head.headerFields[.authorization] == "Sum 6")
        #expect(try await response.body.data(upTo: 10) == Data([1, 2, 3]))
    }

    @Test func `A body that a signer has consumed is an error, not an empty body`() async throws {
        let stub = StubConnection { Response(status: .ok, body: Body(try await $0.body.data(upTo: 10))) }
        let connection = stub.authenticating(with: .signer(SumSigner()), for: try Origin("https://api.example.com"))
        let body = Body(length: 1, replay: .once) { _ in OneByteReader() }
        await #expect(throws: BodyReadTwiceError.self) {
            try await connection.send(.post("https://api.example.com/", body: body))
        }
    }

    @Test func `The layer declares the fields of its signer`() throws {
        let connection = StubConnection().authenticating(
            with: .signer(LineSigner(clock: clock)), for: try Origin("https://api.example.com"))
        #expect(connection.layers[0].secretFields == [.authorization])
        #expect(connection.layers[0].facts.isSuperset(of: [.signs, .variesPerSend, .bindsToOrigins, .addsCredentials]))
        #expect(connection.layers[0].description == "authenticating(with: signer, for: https://api.example.com)")
    }
}

/// Writes the method, the target, the date and the length into the "signature", so that a test can read them.
private struct LineSigner: RequestSigner {
    let clock: any DatedClock
    let secretFields: Set<HTTPField.Name> = [.authorization]

    func sign(_ request: Request) async throws -> Request {
        var request = request
        let date = Int(clock.date.timeIntervalSince1970)
        let line = "Line \(request.head.method) \(request.head.path ?? "") \(date) \(request.body.length ?? -1)"
        request.head.headerFields[.authorization] = line
        request.head.headerFields[.date] = "\(date)"
        return request
    }
}

private struct SumSigner: RequestSigner {
    let secretFields: Set<HTTPField.Name> = [.authorization]

    func sign(_ request: Request) async throws -> Request {
        var request = request
        let sum = try await request.body.data(upTo: 10).reduce(0) { $0 + Int($1) }
        request.head.headerFields[.authorization] = "Sum \(sum)"
        return request
    }
}

private struct FailingSigner: RequestSigner {
    struct LockedKeychainError: Error {}

    let secretFields: Set<HTTPField.Name> = [.authorization]

    func sign(_ request: Request) async throws -> Request { throw LockedKeychainError() }
}

private struct OneByteReader: BodyReader {
    private var isAtEnd = false

    mutating func next() async throws -> Data? {
        defer { isAtEnd = true }
        return isAtEnd ? nil : Data([1])
    }

    var trailers: HTTPFields? { nil }
}
