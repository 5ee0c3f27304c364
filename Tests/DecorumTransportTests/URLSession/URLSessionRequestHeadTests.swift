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

    @Test func `The URL is put together from its parts`() throws {
        let converted = try URLRequest(request([:], path: "/a%20b?c=d%2Fe&f"))

        #expect(converted.url?.absoluteString == "http://example.com:8080/a%20b?c=d%2Fe&f")
        #expect(converted.httpMethod == "POST")
    }

    @Test func `Cookie fields are joined with semicolons, others with commas`() throws {
        var fields = HTTPFields()
        for (name, value) in [("Cookie", "a=1"), ("Accept", "x/y"), ("cookie", "b=2"), ("accept", "z/z")] {
            fields.append(HTTPField(name: try #require(.init(name)), value: value))
        }

        let converted = try URLRequest(request(fields))

        #expect(converted.value(forHTTPHeaderField: "Cookie") == "a=1; b=2")
        #expect(converted.value(forHTTPHeaderField: "Accept") == "x/y, z/z")
    }

    @Test func `Names are sent as they are spelled`() throws {
        let name = try #require(HTTPField.Name("x-ODD-Name"))
        let converted = try URLRequest(request([name: "1"]))

        #expect(converted.allHTTPHeaderFields?["x-ODD-Name"] == "1")
    }

    @Test func `Content-Length and Transfer-Encoding are left to URLSession`() throws {
        let converted = try URLRequest(request([.contentLength: "3", .transferEncoding: "chunked"]))

        #expect(converted.value(forHTTPHeaderField: "Content-Length") == nil)
        #expect(converted.value(forHTTPHeaderField: "Transfer-Encoding") == nil)
    }

    @Test(arguments: ["*", "", "a", "/a#b"])
    func `A path that cannot be sent is refused`(path: String) {
        #expect(throws: InvalidRequestError.self) { try URLRequest(request([:], path: path)) }
    }

    @Test(arguments: ["", "a b", "[::", "a:b"])
    func `An authority that makes the URL invalid is refused`(authority: String) {
        let head = HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/")

        #expect(throws: InvalidRequestError.self) { try URLRequest(head) }
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
