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

    @Test(arguments: [-1, 0, 99, 1000])
    func `A status out of range makes the head invalid`(status: Int) throws {
        #expect(try head(status, [:]) == nil)
    }

    @Test func `More cookies than a head can hold make it invalid`() throws {
        let cookies = (0..<70_000).map { "c\($0)=1" }.joined(separator: ", ")

        #expect(try head(200, ["Set-Cookie": cookies]) == nil)
    }

    @Test(arguments: [("3", 3), ("3, 3", 3), ("3,3", 3), ("9223372036854775807", Int64.max)])
    func `A length may be repeated`(value: String, length: Int64) throws {
        #expect(try head(200, ["Content-Length": value])?.contentLength == length)
    }

    @Test func `More fields than a head can hold make it invalid`() throws {
        let fields = (0..<70_000).map { ("X-\($0)", "1") }

        #expect(try head(200, Dictionary(uniqueKeysWithValues: fields)) == nil)
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
    ])
    func `Codings that were undone are removed with the length`(value: String, codings: [String]) throws {
        var head = try #require(try head(200, ["Content-Encoding": value, "Content-Length": "3", "X-A": "1"]))

        #expect(head.removeDecodedCodings() == codings)
        #expect(head.headerFields.map(\.name.canonicalName) == ["x-a"])
    }

    @Test(arguments: ["identity", "", "foo", "gzip, foo"])
    func `Codings that were not undone stay with the length`(value: String) throws {
        var head = try #require(try head(200, ["Content-Encoding": value, "Content-Length": "3"]))

        #expect(head.removeDecodedCodings() == [])
        #expect(head.headerFields[.contentLength] == "3")
    }
}

@Suite struct URLSessionFailureTests {
    typealias Row = (
        code: URLError.Code, text: String, stage: TransportError.Stage, expected: TransportError.Code,
        expectedStage: TransportError.Stage
    )

    @Test(arguments: [("REFUSED_STREAM (err 7)", true), ("CANCEL (err 8)", false)])
    func `A refused stream was not processed`(reason: String, isUnprocessed: Bool) throws {
        let text = "HTTP/2 stream 1 was not closed cleanly: " + reason
        let error = try #require(
            URLSessionFailure.error(for: .unknown, text, at: .head, fromLibcurl: true) as? TransportError)
        #expect(error.isUnprocessed == isUnprocessed)
    }

    static let rows: [Row] = [
        (.cannotConnectToHost, "Couldn't connect to server", .head, .connectionRefused, .connecting),
        (.cannotFindHost, "Could not resolve host: x", .head, .hostNotFound, .connecting),
        (.dnsLookupFailed, "", .head, .hostNotFound, .connecting),
        (.notConnectedToInternet, "", .head, .unreachable, .connecting),
        (.timedOut, "", .head, .timedOut, .head),
        (.timedOut, "", .body, .timedOut, .body),
        (.networkConnectionLost, "Recv failure: Connection reset by peer", .head, .connectionLost, .head),
        (.networkConnectionLost, "", .body, .connectionLost, .body),
        (.badServerResponse, "Empty reply from server", .head, .connectionLost, .head),
        (.unsupportedURL, "Received HTTP/0.9 when not allowed", .head, .malformedResponse, .head),
        (.unsupportedURL, "Unsupported HTTP version in response", .head, .malformedResponse, .head),
        (.cannotParseResponse, "", .head, .malformedResponse, .head),
        (.cannotDecodeContentData, "", .body, .undecodableContent, .body),
        (.fileDoesNotExist, "File system error", .head, .unreadableBody, .connecting),
        (.noPermissionsToReadFile, "", .head, .unreadableBody, .connecting),
        (.serverCertificateUntrusted, "", .head, .tls, .connecting),
        (.secureConnectionFailed, "", .body, .tls, .body),
        (.unknown, "transfer closed with 36 bytes remaining to read", .body, .truncated, .body),
        (.unknown, "transfer closed with outstanding read data remaining", .body, .truncated, .body),
        (.unknown, "end of response with 3 bytes missing", .body, .truncated, .body),
        (
            .unknown, "Illegal or missing hexadecimal sequence in chunked-encoding", .body, .malformedResponse, .body
        ),
        (
            .unknown, "Unrecognized content encoding type. libcurl understands deflate, gzip content encodings.",
            .body, .undecodableContent, .body
        ),
        (
            .unknown, "Error while processing content unencoding: incorrect header check", .body, .undecodableContent,
            .body
        ),
        (.unknown, "Failed writing header", .head, .malformedResponse, .head),
        (.unknown, "Header without colon", .head, .malformedResponse, .head),
        (.unknown, "Invalid Content-Length: value", .head, .malformedResponse, .head),
        (.unknown, "Out of memory", .head, .malformedResponse, .head),
        (.unknown, "Send failure: Broken pipe", .head, .connectionLost, .head),
        (.unknown, "SSL certificate problem: self-signed certificate", .head, .tls, .connecting),
        (
            .unknown, "SSL: no alternative certificate subject name matches target host name", .head, .tls, .connecting
        ),
        (.unknown, "CONNECT tunnel failed, response 407", .head, .proxyRefused, .connecting),
        (.unknown, "Received HTTP code 407 from proxy after CONNECT", .head, .proxyRefused, .connecting),
        (
            .unknown, "Failed to connect to a port 80 after 0 ms: Couldn't connect to server", .head, .unreachable,
            .connecting
        ),
        (.unknown, "something new", .head, .other, .head),
        (.zeroByteResource, "", .body, .other, .body),
    ]

    /// The codes of Apple's systems that a task for data can end with; the texts there are in any language.
    static let rowsOfApple: [Row] = [
        (.timedOut, "", .head, .timedOut, .head),
        (.cannotFindHost, "", .head, .hostNotFound, .connecting),
        (.dnsLookupFailed, "", .head, .hostNotFound, .connecting),
        (.cannotConnectToHost, "", .head, .connectionRefused, .connecting),
        (.networkConnectionLost, "", .head, .connectionLost, .head),
        (.networkConnectionLost, "", .body, .connectionLost, .body),
        (.notConnectedToInternet, "", .head, .unreachable, .connecting),
        (.internationalRoamingOff, "", .head, .unreachable, .connecting),
        (.callIsActive, "", .head, .unreachable, .connecting),
        (.dataNotAllowed, "", .head, .unreachable, .connecting),
        (.cannotLoadFromNetwork, "", .head, .unreachable, .connecting),
        (.badServerResponse, "", .head, .malformedResponse, .head),
        (.redirectToNonExistentLocation, "", .head, .malformedResponse, .head),
        (.cannotParseResponse, "", .head, .malformedResponse, .head),
        (.zeroByteResource, "", .body, .truncated, .body),
        (.cannotDecodeRawData, "", .body, .undecodableContent, .body),
        (.cannotDecodeContentData, "", .body, .undecodableContent, .body),
        (.requestBodyStreamExhausted, "", .head, .unreadableBody, .head),
        (.fileDoesNotExist, "", .head, .unreadableBody, .connecting),
        (.fileIsDirectory, "", .head, .unreadableBody, .connecting),
        (.noPermissionsToReadFile, "", .head, .unreadableBody, .connecting),
        (.cannotOpenFile, "", .head, .unreadableBody, .connecting),
        (.dataLengthExceedsMaximum, "", .head, .limitExceeded, .head),
        (.appTransportSecurityRequiresSecureConnection, "", .head, .tls, .connecting),
        (.secureConnectionFailed, "", .head, .tls, .connecting),
        (.serverCertificateHasBadDate, "", .head, .tls, .connecting),
        (.serverCertificateUntrusted, "", .head, .tls, .connecting),
        (.serverCertificateHasUnknownRoot, "", .head, .tls, .connecting),
        (.serverCertificateNotYetValid, "", .head, .tls, .connecting),
        (.clientCertificateRejected, "", .head, .tls, .connecting),
        (.clientCertificateRequired, "", .head, .tls, .connecting),
        (.resourceUnavailable, "", .head, .other, .head),
        (.userAuthenticationRequired, "", .head, .other, .head),
        (.unknown, "certificat refusé, HTTP, SSL", .head, .other, .head),
        (.unknown, "transfer closed with 36 bytes remaining to read", .body, .other, .body),
    ]

    // The texts of Linux count, and the texts of Apple's systems do not.
    @Test(arguments: rows.map { ($0, true) } + rowsOfApple.map { ($0, false) })
    func `Each code has one meaning on each platform`(row: Row, isOfLibcurl: Bool) throws {
        let error = URLSessionFailure.error(for: row.code, row.text, at: row.stage, fromLibcurl: isOfLibcurl)

        let failure = try #require(error as? TransportError)
        #expect(failure.code == row.expected)
        #expect(failure.stage == row.expectedStage)
    }

    @Test(arguments: [URLError.Code.badURL, .unsupportedURL])
    func `A URL that Apple's systems refuse is an invalid request`(code: URLError.Code) {
        let error = URLSessionFailure.error(for: code, "", at: .head, fromLibcurl: false)
        #expect((error as? InvalidRequestError)?.reason == .invalidURL)
    }

    @Test(arguments: [(true, TransportError.Code.connectionLost), (false, .truncated)])
    func `A lost connection cuts a body on Apple's systems, where libcurl has a text for a cut`(
        isOfLibcurl: Bool, expected: TransportError.Code
    ) {
        let error = URLSessionFailure.error(
            for: .networkConnectionLost, "", at: .body, isCut: true, fromLibcurl: isOfLibcurl)
        #expect((error as? TransportError)?.code == expected)
    }

    @Test(arguments: [
        (URLError.Code.appTransportSecurityRequiresSecureConnection, TransportError.TLSProblem?.some(.required)),
        (.serverCertificateHasBadDate, .expired), (.serverCertificateNotYetValid, .notYetValid),
        (.serverCertificateHasUnknownRoot, .untrusted), (.serverCertificateUntrusted, .unverified),
        (.clientCertificateRequired, .refused), (.secureConnectionFailed, nil),
    ])
    func `The code alone names a problem of TLS on Apple's systems`(
        code: URLError.Code, problem: TransportError.TLSProblem?
    ) {
        let error = URLSessionFailure.error(for: code, "certificate has expired", at: .head, fromLibcurl: false)
        #expect((error as? TransportError)?.tlsProblem == problem)
    }

    @Test func `A network that the request forbids is named`() {
        let error = URLSessionFailure.error(
            for: .notConnectedToInternet, "", at: .head, forbidding: "cellular access is not allowed",
            fromLibcurl: false)
        #expect((error as? TransportError)?.code == .unreachable)
        #expect((error as? TransportError)?.detail == "cellular access is not allowed")
    }

    @Test(arguments: [TransportError.Stage.connecting, .head, .body])
    func `Cancellation is CancellationError at any stage`(stage: TransportError.Stage) {
        #expect(URLSessionFailure.error(for: .cancelled, "cancelled", at: stage) is CancellationError)
    }

    @Test func `The underlying error keeps code and text and loses the URL`() throws {
        let secret = URL(string: "http://example.com/?token=s3cret")
        let original = URLError(
            .timedOut,
            userInfo: [
                NSLocalizedDescriptionKey: "Too late", NSURLErrorFailingURLErrorKey: secret as Any,
            ])

        let error = URLSessionFailure.error(for: original, at: .head, isCut: false)

        let underlying = try #require((error as? TransportError)?.underlying as? URLError)
        #expect(underlying.code == .timedOut)
        #expect(underlying.localizedDescription == "Too late")
        #expect(underlying.failingURL == nil)
        #expect(!String(reflecting: error).contains("s3cret"))
        #expect(!String(describing: (underlying as NSError).userInfo).contains("s3cret"))
    }

    @Test(arguments: [
        (URLError.Code.unknown, "Unsupported proxy 'ftp://me:s3cret@p.example'"),
        (.secureConnectionFailed, "SSL: proxy me:s3cret@p.example"), (.unknown, "HTTP of https://me:s3cret@p.example"),
        (.unknown, "Proxy password is s3cret"),
    ])
    func `Words that may hold the password of a proxy are not passed on`(code: URLError.Code, text: String) throws {
        let error = try #require(URLSessionFailure.error(for: code, text, at: .head) as? TransportError)
        #expect(error.detail == "URLError \(code.rawValue)")
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!"\(error) \(String(reflecting: error)) \(dumped)".contains("s3cret"))
    }

    @Test func `An error of another kind has the code other`() throws {
        let error = URLSessionFailure.error(for: CocoaError(.fileNoSuchFile), at: .body, isCut: false)

        let failure = try #require(error as? TransportError)
        #expect(failure.code == .other)
        #expect(failure.underlying == nil)
    }
}
