import Decorum
import Foundation

/// The clients that are measured: a new one is a line in here.
extension Subject {
    static let all: [Subject] =
        [Subject(name: "data(for:)", baseline: nil) { _ in FoundationClient() }]
        + connections("URLSessionConnection", over: "data(for:)") {
            URLSessionConnection(connectionsPerHost: Exchanging.concurrency)
        } + platform + asyncHTTPClient
}
