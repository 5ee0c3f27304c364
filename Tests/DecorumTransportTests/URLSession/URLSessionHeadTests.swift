import Foundation
import HTTPTypes
import Testing

@testable import Decorum

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct URLSessionRequestHeadTests {
    private func request(_ fields: HTTPFields, path: String = "/") -> HTTPRequest {
        HTTPRequest(method: .post, scheme: "http", authority: "example.com:8080", path: path, headerFields: fields)
    }

    @Test func `A head is converted, with repeated fields joined and without those about the length`() throws {
        var fields: HTTPFields = [.contentLength: "3", .transferEncoding: "chunked"]
        for (name, value) in [
            ("Cookie", "a=1"), ("Accept", "x/y"), ("cookie", "b=2"), ("accept", "z/z"), ("x-ODD-Name", "1"),
        ] {
            fields.append(HTTPField(name: try #require(.init(name)), value: value))
        }
        let converted = try URLRequest(request(fields, path: "/a%20b?c=d%2Fe&f"))

        #expect(converted.url?.absoluteString == "http://example.com:8080/a%20b?c=d%2Fe&f")
        #expect(converted.httpMethod == "POST")
        #expect(converted.value(forHTTPHeaderField: "Cookie") == "a=1; b=2")
        #expect(converted.value(forHTTPHeaderField: "Accept") == "x/y, z/z")
        #expect(converted.allHTTPHeaderFields?["x-ODD-Name"] == "1")
        #expect(converted.value(forHTTPHeaderField: "Content-Length") == nil)
        #expect(converted.value(forHTTPHeaderField: "Transfer-Encoding") == nil)
    }

    @Test func `A path or an authority that makes the URL invalid is refused`() {
        for path in ["*", "", "a", "/a#b"] {
            #expect(throws: InvalidRequestError.self, "\(path)") { try URLRequest(request([:], path: path)) }
        }
        for authority in ["", "a b", "[::", "a:b"] {
            let head = HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/")
            #expect(throws: InvalidRequestError.self, "\(authority)") { try URLRequest(head) }
        }
    }

    @Test func `A request is restricted to the networks that it may use, where the system knows them`() throws {
        var options = RequestOptions()
        var converted = try URLRequest(request([:]))
        let plain = converted
        URLSessionPlatform.apply(options.networkAccess, to: &converted)
        #expect(converted == plain)

        options.allowsCellularAccess = false
        options.allowsExpensiveNetworkAccess = false
        options.allowsConstrainedNetworkAccess = false
        options.networkServiceType = .background
        URLSessionPlatform.apply(options.networkAccess, to: &converted)

        #expect(Self.access(of: converted) == Self.expectedAccess)
    }

    @Test(arguments: serviceTypes)
    func `A type of service has the number of the system`(
        type: NetworkServiceType, expected: URLRequest.NetworkServiceType
    ) {
        #expect(type.number == expected.rawValue)
    }
}

#if canImport(FoundationNetworking)
extension URLSessionRequestHeadTests {
    private static let expectedAccess: [String] = ["true", "0"]

    private static let serviceTypes: [(NetworkServiceType, URLRequest.NetworkServiceType)] = [
        (.default, .default), (.video, .video), (.background, .background), (.voice, .voice),
    ]

    private static func access(of request: URLRequest) -> [String] {
        ["\(request.allowsCellularAccess)", "\(request.networkServiceType.rawValue)"]
    }
}
#else
extension URLSessionRequestHeadTests {
    private static let expectedAccess: [String] = ["false", "false", "false", "3"]

    private static let serviceTypes: [(NetworkServiceType, URLRequest.NetworkServiceType)] = [
        (.default, .default), (.video, .video), (.background, .background), (.voice, .voice),
        (.responsiveData, .responsiveData), (.avStreaming, .avStreaming), (.responsiveAV, .responsiveAV),
        (.callSignaling, .callSignaling),
    ]

    private static func access(of request: URLRequest) -> [String] {
        [
            "\(request.allowsCellularAccess)", "\(request.allowsExpensiveNetworkAccess)",
            "\(request.allowsConstrainedNetworkAccess)", "\(request.networkServiceType.rawValue)",
        ]
    }
}
#endif

@Suite struct URLSessionResponseHeadTests {
    private func head(_ status: Int, _ fields: [String: String]) throws -> HTTPResponse? {
        let url = try #require(URL(string: "http://example.com/"))
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        return HTTPResponse(try #require(response))
    }

    @Test func `The fields are sorted by name`() throws {
        let head = try head(200, ["X-B": "2", "X-A": "1", "X-C": "3"])

        #expect(head?.headerFields.map(\.value) == ["1", "2", "3"])
    }

    @Test func `A status out of range, and more fields than a head can hold, make it invalid`() throws {
        for status in [-1, 0, 99, 1000] { #expect(try head(status, [:]) == nil) }
        let cookies = (0..<70_000).map { "c\($0)=1" }.joined(separator: ", ")
        #expect(try head(200, ["Set-Cookie": cookies]) == nil)
        #expect(try head(200, Dictionary(uniqueKeysWithValues: (0..<70_000).map { ("X-\($0)", "1") })) == nil)
    }

    @Test(arguments: [("3", 3), ("3, 3", 3), ("3,3", 3), ("9223372036854775807", Int64.max)])
    func `A length may be repeated`(value: String, length: Int64) throws {
        #expect(try head(200, ["Content-Length": value])?.contentLength == length)
    }

    @Test(arguments: [
        "", "x", ",", "3,", ",3", "3, 4", "3, 3, 4", "3, x", "3 0", "0x3", "+3", "-3", "3abc", "3.0", "3;", "\"3\"",
        "٣", "9223372036854775808", "99999999999999999999", "3, 99999999999999999999",
    ])
    func `Lengths that are not numbers, or differ, make the head invalid`(value: String) throws {
        #expect(try head(200, ["Content-Length": value]) == nil)
    }

    @Test(arguments: ["chunked", "gzip, chunked", "identity", ""])
    func `A transfer coding beside a length makes the head invalid`(coding: String) throws {
        #expect(try head(200, ["Content-Length": "3", "Transfer-Encoding": coding]) == nil)
        #expect(try head(200, ["Transfer-Encoding": coding])?.contentLength == .some(nil))
    }

    @Test(arguments: [
        ("gzip", ["gzip"]), ("GZIP", ["gzip"]), ("gzip, br", ["br", "gzip"]), ("identity, gzip", ["gzip"]),
        ("identity", []), ("", []), ("foo", []), ("gzip, foo", []),
    ])
    func `Codings that were undone are removed with the length`(value: String, codings: [String]) throws {
        var head = try #require(try head(200, ["Content-Encoding": value, "Content-Length": "3", "X-A": "1"]))

        #expect(head.removeDecodedCodings() == codings)
        #expect(head.headerFields[.contentLength] == (codings.isEmpty ? "3" : nil))
        #expect(codings.isEmpty || head.headerFields.map(\.name.canonicalName) == ["x-a"])
    }
}
