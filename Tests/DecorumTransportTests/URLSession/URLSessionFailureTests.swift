import Foundation
import Testing

@testable import Decorum

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct URLSessionFailureTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let code: URLError.Code
        let text: String
        let stage: TransportError.Stage
        let expected: TransportError.Code
        let expectedStage: TransportError.Stage

        init(
            _ code: URLError.Code, _ text: String, _ stage: TransportError.Stage,
            _ expected: TransportError.Code, _ expectedStage: TransportError.Stage
        ) {
            self.code = code
            self.text = text
            self.stage = stage
            self.expected = expected
            self.expectedStage = expectedStage
        }

        var testDescription: String { "\(code.rawValue) \(text) at \(stage)" }
    }

    @Test(arguments: [("REFUSED_STREAM (err 7)", true), ("CANCEL (err 8)", false)])
    func `A refused stream was not processed`(reason: String, isUnprocessed: Bool) throws {
        let text = "HTTP/2 stream 1 was not closed cleanly: " + reason
        let error = try #require(
            URLSessionFailure.error(for: .unknown, text, at: .head, fromLibcurl: true) as? TransportError)
        #expect(error.isUnprocessed == isUnprocessed)
    }

    static let rows: [Row] = [
        Row(.cannotConnectToHost, "Couldn't connect to server", .head, .connectionRefused, .connecting),
        Row(.cannotFindHost, "Could not resolve host: x", .head, .hostNotFound, .connecting),
        Row(.dnsLookupFailed, "", .head, .hostNotFound, .connecting),
        Row(.notConnectedToInternet, "", .head, .unreachable, .connecting),
        Row(.timedOut, "", .head, .timedOut, .head),
        Row(.timedOut, "", .body, .timedOut, .body),
        Row(.networkConnectionLost, "Recv failure: Connection reset by peer", .head, .connectionLost, .head),
        Row(.networkConnectionLost, "", .body, .connectionLost, .body),
        Row(.badServerResponse, "Empty reply from server", .head, .connectionLost, .head),
        Row(.unsupportedURL, "Received HTTP/0.9 when not allowed", .head, .malformedResponse, .head),
        Row(.unsupportedURL, "Unsupported HTTP version in response", .head, .malformedResponse, .head),
        Row(.cannotParseResponse, "", .head, .malformedResponse, .head),
        Row(.cannotDecodeContentData, "", .body, .undecodableContent, .body),
        Row(.fileDoesNotExist, "File system error", .head, .unreadableBody, .connecting),
        Row(.noPermissionsToReadFile, "", .head, .unreadableBody, .connecting),
        Row(.serverCertificateUntrusted, "", .head, .tls, .connecting),
        Row(.secureConnectionFailed, "", .body, .tls, .body),
        Row(.unknown, "transfer closed with 36 bytes remaining to read", .body, .truncated, .body),
        Row(.unknown, "transfer closed with outstanding read data remaining", .body, .truncated, .body),
        Row(.unknown, "end of response with 3 bytes missing", .body, .truncated, .body),
        Row(
            .unknown, "Illegal or missing hexadecimal sequence in chunked-encoding", .body, .malformedResponse, .body),
        Row(
            .unknown, "Unrecognized content encoding type. libcurl understands deflate, gzip content encodings.",
            .body, .undecodableContent, .body),
        Row(
            .unknown, "Error while processing content unencoding: incorrect header check", .body, .undecodableContent,
            .body),
        Row(.unknown, "Failed writing header", .head, .malformedResponse, .head),
        Row(.unknown, "Header without colon", .head, .malformedResponse, .head),
        Row(.unknown, "Invalid Content-Length: value", .head, .malformedResponse, .head),
        Row(.unknown, "Out of memory", .head, .malformedResponse, .head),
        Row(.unknown, "Send failure: Broken pipe", .head, .connectionLost, .head),
        Row(.unknown, "SSL certificate problem: self-signed certificate", .head, .tls, .connecting),
        Row(
            .unknown, "SSL: no alternative certificate subject name matches target host name", .head, .tls, .connecting),
        Row(.unknown, "CONNECT tunnel failed, response 407", .head, .proxyRefused, .connecting),
        Row(.unknown, "Received HTTP code 407 from proxy after CONNECT", .head, .proxyRefused, .connecting),
        Row(
            .unknown, "Failed to connect to a port 80 after 0 ms: Couldn't connect to server", .head, .unreachable,
            .connecting),
        Row(.unknown, "something new", .head, .other, .head),
        Row(.zeroByteResource, "", .body, .other, .body),
    ]

    @Test(arguments: rows)
    func `Each code and text of Linux has one meaning`(row: Row) throws {
        let error = URLSessionFailure.error(for: row.code, row.text, at: row.stage, fromLibcurl: true)

        let failure = try #require(error as? TransportError)
        #expect(failure.code == row.expected)
        #expect(failure.stage == row.expectedStage)
    }

    /// The codes of Apple's systems that a task for data can end with; the texts there are in any language.
    static let rowsOfApple: [Row] = [
        Row(.timedOut, "", .head, .timedOut, .head),
        Row(.cannotFindHost, "", .head, .hostNotFound, .connecting),
        Row(.dnsLookupFailed, "", .head, .hostNotFound, .connecting),
        Row(.cannotConnectToHost, "", .head, .connectionRefused, .connecting),
        Row(.networkConnectionLost, "", .head, .connectionLost, .head),
        Row(.networkConnectionLost, "", .body, .connectionLost, .body),
        Row(.notConnectedToInternet, "", .head, .unreachable, .connecting),
        Row(.internationalRoamingOff, "", .head, .unreachable, .connecting),
        Row(.callIsActive, "", .head, .unreachable, .connecting),
        Row(.dataNotAllowed, "", .head, .unreachable, .connecting),
        Row(.cannotLoadFromNetwork, "", .head, .unreachable, .connecting),
        Row(.badServerResponse, "", .head, .malformedResponse, .head),
        Row(.redirectToNonExistentLocation, "", .head, .malformedResponse, .head),
        Row(.cannotParseResponse, "", .head, .malformedResponse, .head),
        Row(.zeroByteResource, "", .body, .truncated, .body),
        Row(.cannotDecodeRawData, "", .body, .undecodableContent, .body),
        Row(.cannotDecodeContentData, "", .body, .undecodableContent, .body),
        Row(.requestBodyStreamExhausted, "", .head, .unreadableBody, .head),
        Row(.fileDoesNotExist, "", .head, .unreadableBody, .connecting),
        Row(.fileIsDirectory, "", .head, .unreadableBody, .connecting),
        Row(.noPermissionsToReadFile, "", .head, .unreadableBody, .connecting),
        Row(.cannotOpenFile, "", .head, .unreadableBody, .connecting),
        Row(.dataLengthExceedsMaximum, "", .head, .limitExceeded, .head),
        Row(.appTransportSecurityRequiresSecureConnection, "", .head, .tls, .connecting),
        Row(.secureConnectionFailed, "", .head, .tls, .connecting),
        Row(.serverCertificateHasBadDate, "", .head, .tls, .connecting),
        Row(.serverCertificateUntrusted, "", .head, .tls, .connecting),
        Row(.serverCertificateHasUnknownRoot, "", .head, .tls, .connecting),
        Row(.serverCertificateNotYetValid, "", .head, .tls, .connecting),
        Row(.clientCertificateRejected, "", .head, .tls, .connecting),
        Row(.clientCertificateRequired, "", .head, .tls, .connecting),
        Row(.resourceUnavailable, "", .head, .other, .head),
        Row(.userAuthenticationRequired, "", .head, .other, .head),
        Row(.unknown, "certificat refusé, HTTP, SSL", .head, .other, .head),
        Row(.unknown, "transfer closed with 36 bytes remaining to read", .body, .other, .body),
    ]

    @Test(arguments: rowsOfApple)
    func `Each code of Apple's systems has one meaning, whatever its text is`(row: Row) throws {
        let error = URLSessionFailure.error(for: row.code, row.text, at: row.stage, fromLibcurl: false)

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
