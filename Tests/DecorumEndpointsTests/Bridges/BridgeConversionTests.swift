import Decorum
import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct BridgeConversionTests {
    @Test func `A loader sends what a URLRequest says, and returns every status`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.put, "/items/1") { .init(.conflict, fields: ["X-Length": "\($0.bodyLength)"], body: $0.body) }
        var request = URLRequest(url: try #require(URL(string: origin.url + "/items/1")))
        request.httpMethod = "PUT"
        var second = request
        request.httpBodyStream = InputStream(data: Data("content".utf8))
        second.httpBody = Data("content".utf8)
        let load = SystemConnection().validatingStatus().dataLoader(upTo: 100)
        for request in [request, second] {
            let (data, response) = try await load(request)
            let head = try #require(response as? HTTPURLResponse)
            #expect(head.statusCode == 409)
            #expect(head.value(forHTTPHeaderField: "x-length") == "7")
            #expect(String(decoding: data, as: UTF8.self) == "content")
        }
    }

    @Test func `A loader refuses content beyond its limit, and passes errors on`() async throws {
        let stub = StubConnection(Response(status: .ok, body: "four"), Response(status: .ok, body: "fours"))
        let load = stub.dataLoader(upTo: 4)
        let request = URLRequest(url: try #require(URL(string: "https://example.com/")))
        #expect(try await load(request).0 == Data("four".utf8))
        await #expect(throws: BodyLimitError.self) { _ = try await load(request) }
        await #expect(throws: StubExhaustedError.self) { _ = try await load(request) }
    }

    @Test func `A stream is sent again only where it is short`() async throws {
        for (length, isReplayed) in [(1000, true), (2 << 20, false)] {
            let stub = StubConnection { _ in Response(status: .ok) }
            var request = URLRequest(url: try #require(URL(string: "https://example.com/")))
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: Data(count: length))
            _ = try await stub.dataLoader()(request)
            let body = try #require(stub.requests.first).body
            #expect((body.replay != .once) == isReplayed)
            #expect(try await body.data(upTo: length).count == length)
        }
    }

    @Test(arguments: [
        (TransportError(.deadlineExceeded, at: .head), URLError.Code.timedOut),
        (TransportError(.hostNotFound, at: .connecting), .cannotFindHost),
        (TransportError(.truncated, at: .body), .networkConnectionLost),
        (TransportError(.tls, at: .connecting), .secureConnectionFailed),
        (TransportError(.other, at: .head), .unknown),
    ]) func `M46: A transport error has the code of its cause`(error: TransportError, code: URLError.Code) {
        #expect(URLError(error).code == code)
        #expect(URLError(error).userInfo[NSUnderlyingErrorKey] is TransportError)
    }

    @Test(arguments: [
        (TransportError.TLSProblem.expired, URLError.Code.serverCertificateHasBadDate),
        (.required, .appTransportSecurityRequiresSecureConnection), (.refused, .secureConnectionFailed),
    ])
    func `A problem of TLS has the code of Foundation's for it`(
        problem: TransportError.TLSProblem, code: URLError.Code
    ) {
        var error = TransportError(.tls, at: .connecting)
        error.tlsProblem = problem
        #expect(URLError(error).code == code)
    }

    @Test func `Other errors have a code too`() throws {
        let url = try #require(URL(string: "https://example.com/"))
        #expect(URLError(CancellationError()).code == .cancelled)
        #expect(URLError(BodyLimitError(limit: 1)).code == .dataLengthExceedsMaximum)
        #expect(URLError(StubExhaustedError(method: .get), url: url).code == .unknown)
    }
}

@Suite struct URLRequestTests {
    @Test func `A URLRequest gives its method, URL, fields and content`() throws {
        var original = URLRequest(url: try #require(URL(string: "https://example.com/a?b=c%20d")))
        original.httpMethod = "PATCH"
        original.setValue("de", forHTTPHeaderField: "Accept-Language")
        original.httpBody = Data("x".utf8)
        let request = try Request(original)
        #expect(request.head.method == .patch)
        #expect(request.url == original.url)
        #expect(request.head.headerFields[.acceptLanguage] == "de")
        #expect(request.body.bytes == Data("x".utf8))
    }

    @Test func `A stream is refused`() throws {
        var original = URLRequest(url: try #require(URL(string: "https://example.com/")))
        original.httpBodyStream = InputStream(data: Data("x".utf8))
        #expect(throws: InvalidRequestError.self) { try Request(original) }
    }
}
