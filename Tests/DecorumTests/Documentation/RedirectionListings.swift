import Decorum
import Foundation

struct RedirectionListings {
    func followingRedirects() async throws {
        let connection = URLSessionConnection()
            .followingRedirects(upTo: 5, policy: .sameOrigin)
        let response = try await connection.send(.get("https://example.com/"))
        print(response.metadata.redirects)
    }

    func redirectionPolicy() {
        let trusted = RedirectionPolicy("trusted hosts") { redirection in
            redirection.to.host()?.hasSuffix(".example.com") == true
        }
        let connection = URLSessionConnection()
            .followingRedirects(policy: .httpsOnly.and(trusted))
        _ = connection
    }
}
