import Foundation
import Testing

@testable import Decorum

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

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
