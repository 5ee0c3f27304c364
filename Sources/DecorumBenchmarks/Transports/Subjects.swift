import Decorum
import Foundation

/// The clients that are measured; add a new one here.
extension Subject {
    static let all: [Subject] =
        [Subject(name: "data(for:)", baseline: nil) { _ in FoundationClient() }]
        + connections("URLSessionConnection", over: "data(for:)") {
            URLSessionConnection(connectionsPerHost: Exchanging.connections)
        } + platform + asyncHTTPClient
}
