import Decorum
import Foundation

private func followingRedirects() async throws {
    let connection = SystemConnection()
        .followingRedirects(upTo: 5, policy: .httpsOnly)
    let response = try await connection.send(.get("https://example.com/"))
    print(response.metadata.redirects)  // [301 https://example.com → https://www.example.com]
}

private func redirectionPolicy() -> any Connection {
    let trusted = RedirectionPolicy("trusted hosts") { redirection in
        redirection.to.host()?.hasSuffix(".example.com") == true
    }
    let connection = SystemConnection()
        .followingRedirects(policy: .httpsOnly.and(trusted))
    return connection
}
