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

private func remembering() -> any Connection {
    let moved = PermanentRedirections()
    let connection = SystemConnection()
        .followingRedirects(remembering: moved)
    moved.removeAll()  // when the user signs out
    return connection
}

private func rememberingForGood() -> any Connection {
    let connection = SystemConnection()
        .followingRedirects(remembering: PermanentRedirections())
    return connection
}

private func rewriting() -> RedirectionPolicy {
    let upgrading = RedirectionPolicy.standard.rewriting("to https") { redirection in
        var target = URLComponents(url: redirection.to, resolvingAgainstBaseURL: true)
        target?.scheme = "https"
        return target?.url
    }
    return upgrading
}

private func policyOfRequest() throws -> Request {
    var request = try Request.get("https://example.com/login")
    request.options.redirectionPolicy = .never
    return request
}
