import Decorum
import Foundation
import Testing

@Suite struct DescriptionTests {
    let request = try? Request.post(
        "https://example.com/items?token=secret-1&page=2",
        fields: [.authorization: "Bearer secret-2", .cookie: "secret-3"], body: Body("secret-4"))
    let response = Response(status: .ok, fields: [.setCookie: "secret-5"], body: "secret-6")

    @Test func `A request and a response print in a few words`() throws {
        let request = try #require(request)
        #expect("\(request)".hasPrefix("POST https://example.com/items?token="))
        #expect("\(request)".hasSuffix("&page=2"))
        #expect("\(response)" == "200")
        #expect("\(try Request.get("items"))" == "GET items")
        #expect("\(Body("four"))" == "4 bytes")
        #expect("\(Body(chunks: AsyncStream<Data> { $0.finish() }))" == "a stream of unknown length, read once")
    }

    @Test func `The timings of a transfer print as a sentence`() {
        var timings = TransferTimings(total: .milliseconds(40))
        timings.nameLookup = .milliseconds(2)
        timings.firstByte = .milliseconds(30)
        timings.isConnectionReused = false
        timings.protocolVersion = "HTTP/2"
        timings.remoteAddress = "192.0.2.1"
        #expect(
            "\(timings)"
                == "In the exchange over HTTP/2 with 192.0.2.1 on a new connection, the name was found after 2.0 ms, "
                + "the first byte came after 30.0 ms, the last byte came after 40.0 ms.")
        #expect("\(TransferTimings())" == "In the exchange, no time is known.")
    }

    @Test func `No way of printing shows a field, a secret in the query or content`() throws {
        let request = try #require(request)
        var text = "\(request) \(String(reflecting: request)) \(response) \(String(reflecting: response))"
        text += "\([request]) \([response]) \(request.body) \(response.body)"
        dump(request, to: &text)
        dump(response, to: &text)
        dump(request.body, to: &text)
        #expect(!text.contains("secret"))
    }

    @Test func `A value is encoded as JSON`() async throws {
        let body = try Body(json: ["title": "one"])
        #expect(body == #"{"title":"one"}"#)
        #expect(try await body.decode([String: String].self, upTo: 100) == ["title": "one"])
        #expect(throws: EncodingError.self) { try Body(json: [Double.nan]) }
    }
}
