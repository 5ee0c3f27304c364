import Decorum

struct AuthenticationListings {
    func authenticating(token: String) throws {
        let api = try Origin("https://api.example.com")
        let connection = try SystemConnection()
            .authenticating(with: .bearer(token), for: api)
            .retrying()
            .followingRedirects()
        _ = connection
    }

    // swift-format-ignore: NeverForceUnwrap
    fileprivate func credentials(session: Session, configuration: Configuration) throws {
        let token = try Credentials.bearer(session.token)
        let key = try Credentials.field(.init("X-API-Key")!, configuration.key)
        _ = (token, key)
    }
}

struct SharedKeySigner: RequestSigner {
    let key: SharedKey
    let secretFields: Set<HTTPField.Name> = [.authorization]

    func sign(_ request: Request) async throws -> HTTPFields {
        [.authorization: try await key.signature(of: request.head)]
    }
}

actor SharedKey {
    func signature(of head: HTTPRequest) throws -> String { "MAC \(head.method)" }
}

private struct Session {
    let token: String
}

private struct Configuration {
    let key: String
}
