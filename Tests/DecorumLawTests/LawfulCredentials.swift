import Decorum
import HTTPTypes

/// A source that waits a little for its token.
struct LawfulSource: CredentialSource {
    func credentials(for attempt: AuthenticationAttempt) async throws -> Credentials? {
        await Task.yield()
        return try .bearer("token")
    }
}

/// Signs by an item of the query.
struct LawfulSigner: RequestSigner {
    let secretFields: Set<HTTPField.Name> = []

    func sign(_ request: Request) -> Request {
        var request = request
        let path = request.head.path ?? "/"
        request.head.path = path + (path.contains("?") ? "&" : "?") + "proof=\(path.utf8.count)"
        return request
    }
}
