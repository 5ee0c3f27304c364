import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// What a signer of one's own needs: the items of queries and forms, the content while it is read, and the server's clock.
@Suite struct SignedPartsTests {
    @Test(arguments: [
        ("", ""), ("b=2&a=1", "a=1&b=2"), ("a=2&a=10&a=1", "a=1&a=10&a=2"), ("a&b=", "a=&b="), ("&&a=1&", "a=1"),
        ("a=b=c", "a=b%3Dc"), ("x=%7e%41%2f", "x=~A%2F"), ("a=1+2", "a=1%2B2"), ("%ff=%C3%A9", "%FF=%C3%A9"),
        ("a=%", "a=%25"), ("a%3D=1&a=2", "a=2&a%3D=1"), ("B=1&a=2", "B=1&a=2"),
    ])
    func `The canonical query is decoded, encoded anew and sorted`(query: String, expected: String) throws {
        let request = try Request.get("https://api.example.com/" + (query.isEmpty ? "" : "?" + query))
        #expect(QueryItem.canonicalText(of: request.queryItems) == expected)
    }

    @Test func `Characters are kept as they are asked to be`() {
        #expect(PercentCoding.encode("/a b/é~", keeping: "/") == "/a%20b/%C3%A9~")
        #expect(PercentCoding.encode("/a", keeping: "") == PercentCoding.encode("/a"))
    }

    @Test func `A form is parsed, another content and one that is read once are not`() async throws {
        var request = try Request(.post, "https://api.example.com/", body: Body(form: ["a b": "1&2", "c": ""]))
        #expect(try await request.formItems() == [QueryItem("a b", "1&2"), QueryItem("c", "")])
        request.body = Body("a=1")
        #expect(try await request.formItems() == nil)
        request.body = Body(chunks: AsyncStream<Data> { $0.finish() })
        request.head.headerFields[.contentType] = "application/x-www-form-urlencoded; charset=utf-8"
        let once = request
        await #expect(throws: BodyReadTwiceError.self) { try await once.formItems() }
        let large = try Request(.post, "https://api.example.com/", body: Body(form: ["a": "12345"]))
        await #expect(throws: BodyLimitError.self) { try await large.formItems(upTo: 6) }
    }

    @Test func `Content is folded while it is read, each time from the start`() async throws {
        let name = try #require(HTTPField.Name("X-Count"))
        let body = Body("abc").folding(0) {
            $0 += $1.count
        } trailers: { count, _ in
            [name: String(count)]
        }
        for _ in 1...2 {
            let (data, trailers) = try await body.collect(upTo: 10)
            #expect(data == Data("abc".utf8) && trailers == [name: "3"])
        }
        var rest = try await body.open(at: 1)
        #expect(try await rest.next() == Data("bc".utf8))
        #expect(try await rest.next() == nil && rest.trailers == nil)
        let refusing = Body("abc").folding(0) {
            $0 += $1.count
        } trailers: { count, _ in
            throw BodyLimitError(limit: count)
        }
        await #expect(throws: BodyLimitError(limit: 3)) { try await refusing.data(upTo: 10) }
    }

    @Test(
        arguments: [
            (86_400, .network, nil, 86_400), (-86_400, .network, nil, -86_400), (20, .network, nil, 0),
            (86_400, .cache, nil, 0), (86_400, .cassette, nil, 0), (86_400, nil, nil, 0), (86_400, .network, "0", 0),
        ] as [(TimeInterval, ResponseMetadata.Source?, String?, TimeInterval)])
    func `The clock of a server is learnt from its own responses alone`(
        offset: TimeInterval, source: ResponseMetadata.Source?, age: String?, learnt: TimeInterval
    ) throws {
        let clock = VirtualClock()
        let skew = ClockSkew(clock: clock)
        let (origin, other) = (try Origin("https://a.example"), try Origin("https://b.example"))
        var metadata = ResponseMetadata()
        metadata.source = source
        func learn(_ offset: TimeInterval) {
            var head = HTTPResponse(status: .forbidden)
            head.headerFields[.date] = HTTPDate(clock.date.addingTimeInterval(offset)).description
            head.headerFields[.age] = age
            skew.learn(
                from: AuthenticationAnswer(
                    request: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/"),
                    origin: origin,
                    head: head, metadata: metadata))
        }
        learn(offset)
        #expect(abs(skew.date(for: origin).timeIntervalSince(clock.date) - learnt) <= 1)
        #expect(skew.date(for: other) == clock.date)
        learn(0)
        #expect(skew.date(for: origin) == clock.date)
    }
}
