import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite struct WritingADecoratorListings {
    let clock = VirtualClock()

    @Test func afterTheSunset() async throws {
        let connection = stub(announcing: HTTPDate(clock.date)).noticingSunsets(clock: clock)
        clock.advance(by: .seconds(1))

        await #expect(throws: SunsetError.self) {
            try await connection.send(request(acceptingSunset: false))
        }
        #expect(try await connection.send(request(acceptingSunset: true)).status == .ok)
    }

    @Test func aReaderThatWrapsAnother() async throws {
        let trailers: HTTPFields = [.eTag: #""1""#]
        var response = Response(
            status: .ok, body: Body(replay: .fromStart) { _ in TrailingReader(trailers: trailers) })
        let body = response.body
        let counter = ByteCounter()

        struct CountingReader: BodyReader {
            var reader: any BodyReader
            let counter: ByteCounter

            mutating func next() async throws -> Data? {
                guard let chunk = try await reader.next() else { return nil }
                counter.add(chunk.count)
                return chunk
            }

            var trailers: HTTPFields? { reader.trailers }
        }

        response.body = Body(length: body.length, replay: body.replay) { offset in
            CountingReader(reader: try await body.open(at: offset), counter: counter)
        }

        let content = try await response.body.collect(upTo: 100)
        #expect(content.trailers == trailers)
        #expect(counter.count.load(ordering: .relaxed) == content.data.count)
    }

    // swift-format-ignore: NeverForceUnwrap
    private func stub(announcing sunset: HTTPDate) -> StubConnection {
        StubConnection { _ in Response(status: .ok, fields: [HTTPField.Name("Sunset")!: sunset.description]) }
    }

    private func request(acceptingSunset: Bool) throws -> Request {
        var request = try Request.get("https://example.com/")
        request.options.acceptsSunset = acceptingSunset
        return request
    }
}

extension Connection {
    func noticingSunsets(clock: any DatedClock = SystemClock()) -> some Connection {
        SunsetConnection(base: self, clock: clock)
    }
}

struct SunsetConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let clock: any DatedClock

    var layer: Layer {
        Layer(name: "noticingSunsets", role: .validation, facts: [.readsClock])
    }

    func send(_ request: consuming Request) async throws -> Response {
        let acceptsSunset = request.options.acceptsSunset
        var response = try await base.send(request)
        let field = response.head.headerFields.first { $0.name.canonicalName == "sunset" }
        guard let field, let sunset = HTTPDate(field.value, at: clock.date) else { return response }

        guard acceptsSunset || clock.date < sunset.date else { throw SunsetError(sunset: sunset) }
        response.metadata.sunset = sunset
        return response
    }
}

struct SunsetError: DescribableError {
    let sunset: HTTPDate

    var description: String { "The resource was announced to be gone since \(sunset)." }
}

nonisolated enum AcceptsSunsetKey: RequestOptionKey {
    static let defaultValue = false
}

nonisolated extension RequestOptions {
    var acceptsSunset: Bool {
        get { self[AcceptsSunsetKey.self] }
        set { self[AcceptsSunsetKey.self] = newValue }
    }
}

nonisolated enum SunsetKey: ResponseMetadataKey {
    static let defaultValue: HTTPDate? = nil
}

nonisolated extension ResponseMetadata {
    var sunset: HTTPDate? {
        get { self[SunsetKey.self] }
        set { self[SunsetKey.self] = newValue }
    }
}

private struct RememberingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let memory: OfflineMemory

    func send(_ request: Request) async throws -> Response {
        guard let key = ResponseKey(request) else { return try await base.send(request) }
        var request = request
        let sent = request.collectSent()
        let response = try await base.send(request)
        if sent.allowsSharing {
            await memory.keep(response, for: key)
        }
        return response
    }
}

@Test func `A layer stores responses for all, or for one principal`() async throws {
    let memory = OfflineMemory()
    let open = StubConnection(Response(status: .ok), Response(status: .ok))
    let closed = open.intercepting { request, base in
        var request = request
        request.head.headerFields[.authorization] = "Bearer alice"
        return try await base.send(request)
    }
    let request = try Request.get("https://example.com/")
    let key = try #require(ResponseKey(request))

    _ = try await RememberingConnection(base: closed, memory: memory).send(request)
    #expect(await memory.response(for: key) == nil)
    _ = try await RememberingConnection(base: open, memory: memory).send(request)
    #expect(await memory.response(for: key) != nil)
}

private final class ByteCounter: Sendable {
    let count = Atomic(0)

    func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }
}

private struct TrailingReader: BodyReader {
    var chunks = ["some", "bytes"]
    let trailers: HTTPFields?

    mutating func next() -> Data? {
        chunks.isEmpty ? nil : Data(chunks.removeFirst().utf8)
    }
}
