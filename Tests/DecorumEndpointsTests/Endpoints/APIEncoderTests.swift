import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

@Suite struct APIEncoderTests {
    private struct Person: Codable, Equatable {
        var firstName = "Ada"
        var born = Date(timeIntervalSince1970: 0)
    }

    private static let api: API = {
        let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = .sortedKeys
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .iso8601
        return API(decoder: decoder, encoder: encoder)
    }()
    private static let json = #"{"born":"1970-01-01T00:00:00Z","first_name":"Ada"}"#

    private let create = Endpoint<Person>.post("people", content: .json(Person()))

    @Test func `Content without an encoder takes that of the API`() async throws {
        let stub = StubConnection { _ in Response(status: .ok, body: Body(Self.json)) }
        let connection: any Connection = try stub.calling(Self.api, at: "https://api.example.com/")

        #expect(try await connection.value(of: create) == Person())
        _ = try await connection.response(of: create)

        for request in stub.requests { #expect(try await request.body.text(upTo: 100) == Self.json) }
        #expect(stub.requests.count == 2)
    }

    @Test func `The API of an endpoint has the encoder in any stack`() async throws {
        let stub = StubConnection { _ in Response(status: .ok, body: Body(Self.json)) }
        var create = create
        create.api = Self.api
        _ = try await stub.resolving(against: "https://api.example.com/").value(of: create)
        #expect(try await stub.requests[0].body.text(upTo: 100) == Self.json)
        #expect(try await create.request().body.text(upTo: 100) == Self.json)
    }

    @Test func `An upload that reports its progress is encoded as without reports`() async throws {
        let stub = StubConnection { _ in Response(status: .ok, body: Body(Self.json)) }
        let reporting = create.reportingUpload { _ in }
        _ = try await stub.calling(Self.api, at: "https://api.example.com/").value(of: reporting)
        var own = reporting
        own.api = Self.api
        _ = try await stub.resolving(against: "https://api.example.com/").value(of: own)
        for request in stub.requests { #expect(try await request.body.text(upTo: 100) == Self.json) }
        #expect(stub.requests.count == 2)
    }

    @Test func `An encoder of the content wins`() async throws {
        let stub = StubConnection { _ in Response(status: .ok, body: Body(Self.json)) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let own = Endpoint<Person>.post("people", content: .json(Person(), using: encoder))
        _ = try await stub.calling(Self.api, at: "https://api.example.com/").value(of: own)
        #expect(try await stub.requests[0].body.text(upTo: 100).contains(#""firstName":"Ada""#))
    }

    @Test func `A call that does not find the encoder fails before anything is sent`() async throws {
        let stub = StubConnection { _ in Response(status: .ok, body: Body(Self.json)) }
        let connection = try stub.calling(Self.api, at: "https://api.example.com/").validatingStatus()
        let error = await #expect(throws: InvalidRequestError.self) { try await connection.value(of: create) }
        #expect(error?.description.contains("make `calling` the last modifier") == true)
        #expect(stub.requests.isEmpty)
        // Other calls need no encoder.
        _ = try await connection.value(of: Endpoint<Person>.get("people/1"))
    }

    @Test func `A sample takes the encoder of the API`() async throws {
        let get = Endpoint<Person>.get("people/1").sampled(.json(Person()))
        let connection = try SampleConnection().calling(Self.api, at: "https://api.example.com/")
        #expect(try await connection.value(of: get) == Person())
        #expect(try await SampleConnection().value(of: get) == Person())
    }
}
