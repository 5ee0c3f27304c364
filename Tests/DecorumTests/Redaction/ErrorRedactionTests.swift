import Decorum
import Foundation
import Testing

@Suite struct ErrorRedactionTests {
    private struct LeakyError: Error, CustomStringConvertible {
        let description = "GET https://me:s3cret@a.example/?token=s3cret"
    }

    private struct OwnError: DescribableError {
        let description = "No luck with https://me:s3cret@a.example/?token=s3cret today."
    }

    @Test func `An error of another module is shown only by its type`() {
        #expect(Redaction.standard.description(of: LeakyError()) == "LeakyError")
        #expect(Redaction.none.description(of: LeakyError()) == "LeakyError")
    }

    @Test func `An error of Foundation is shown by domain and code`() {
        let url = URLError(.cannotConnectToHost, userInfo: [NSLocalizedDescriptionKey: "s3cret"])
        #expect(Redaction.standard.description(of: url) == "NSURLErrorDomain -1004")

        let plain = NSError(domain: "Mine", code: 7, userInfo: [NSLocalizedDescriptionKey: "s3cret"])
        #expect(Redaction.standard.description(of: plain) == "Mine 7")
    }

    @Test func `A describable error has the secrets of its URLs redacted`() {
        #expect(
            Redaction.standard.description(of: OwnError())
                == "No luck with https://REDACTED@a.example/?token=REDACTED today.")
    }

    @Test func `A transport error shows the name of its cause`() {
        let error = TransportError(.connectionLost, at: .body, underlying: LeakyError())
        #expect(
            Redaction.standard.description(of: error)
                == "The connection to the server was lost within the content of the response. (LeakyError)")
    }
}
