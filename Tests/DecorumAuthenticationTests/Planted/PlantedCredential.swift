import DecorumAuthentication
import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization

/// A kind of secret, with the value that stands for it in a whole session.
enum PlantedCredential: String, CaseIterable {
    case accessToken, refreshToken, newAccessToken, newRefreshToken, clientSecret, code, verifier, state
    case deviceCode, userCode, subjectToken, exchangedToken, revokedToken, password, apiKey, cookie, newCookie

    /// A value that no part of the redaction knows by its shape.
    var value: String {
        let number = Self.allCases.firstIndex(of: self) ?? 0
        let letter = String(UnicodeScalar(UInt8(ascii: "A") + UInt8(number)))
        return self == .verifier ? String(repeating: letter + "7q", count: 15) : letter + "7Rq2LmZ9sKd4TbVw8NcYh3J"
    }

    /// The forms in which the secret must be in no output.
    var forms: [String] {
        switch self {
        case .clientSecret: [value, Data("app:\(value)".utf8).base64EncodedString()]
        case .password: [value, Data("user:\(value)".utf8).base64EncodedString()]
        default: [value, Data(value.utf8).base64EncodedString()]
        }
    }
}

/// A place in which a secret is looked for.
enum SecretSink: String, CaseIterable {
    case lines, fields, bodies, events, statistics, histories, errors, layers, requests, values, metadata
    case cassette, archive, storedFiles
}

/// Two servers in memory: an authorization server and an API, which see and give all planted credentials.
final class PlantedServers: Sendable {
    private let seen = Mutex("")

    /// All that was sent and answered, as it was.
    var exchanged: String { seen.withLock { $0 } }

    var connection: StubConnection {
        StubConnection { [self] request in
            let content = String(decoding: try await request.body.data(upTo: 10_000), as: UTF8.self)
            let response = answer(to: request.head, content)
            let text = String(decoding: response.body.bytes ?? Data(), as: UTF8.self)
            let fields = (Array(request.head.headerFields) + Array(response.head.headerFields)).map(\.value)
            seen.withLock { $0 += "\(request.head.path ?? "") \(content) \(fields) \(text)\n" }
            return response
        }
    }

    private func answer(to head: HTTPRequest, _ form: String) -> Response {
        switch head.path?.split(separator: "?").first.map(String.init) {
        case "/token": token(form)
        case "/device":
            json(
                """
                {"device_code":"\(PlantedCredential.deviceCode.value)","user_code":"\(PlantedCredential.userCode.value)",\
                "verification_uri":"https://id.example.com/","expires_in":900,"interval":1,\
                "verification_uri_complete":"https://id.example.com/?user_code=\(PlantedCredential.userCode.value)"}
                """)
        case "/revoke":
            json(#"{"error":"invalid_request"}"#, .badRequest)
        case "/notes" where head.headerFields[.authorization] != "Bearer \(PlantedCredential.newAccessToken.value)":
            Response(
                status: .unauthorized,
                fields: [.wwwAuthenticate: #"Bearer error="invalid_token", error_description="no""#], body: "expired")
        case "/locked" where head.headerFields[.authorization] == nil:
            Response(status: .unauthorized, fields: [.wwwAuthenticate: #"Basic realm="door""#])
        case "/refusing": Response(status: .forbidden, body: "forbidden")
        default:
            Response(
                status: .ok,
                fields: [
                    .cacheControl: "private, max-age=600", .contentType: "text/plain",
                    .setCookie: "session=\(PlantedCredential.newCookie.value); Path=/",
                ], body: "a note")
        }
    }

    private func token(_ form: String) -> Response {
        func token(_ access: PlantedCredential, _ refresh: PlantedCredential? = nil) -> Response {
            let further = refresh.map { #","refresh_token":"\#($0.value)""# } ?? ""
            return json(#"{"access_token":"\#(access.value)","token_type":"Bearer","expires_in":3600\#(further)}"#)
        }
        if form.contains("grant_type=refresh_token") { return token(.newAccessToken, .newRefreshToken) }
        if form.contains("token-exchange") { return token(.exchangedToken) }
        return token(.accessToken, .refreshToken)
    }

    private func json(_ text: String, _ status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, fields: [.contentType: "application/json"], body: Body(text))
    }
}
