public import Decorum
public import Foundation

/// A request for the consent of a user: the app shows its ``url`` in a browser, and gives the URL that comes back to
/// ``OAuthClient/token(from:for:)``.
///
/// ```swift
/// let proofKey = try ProofKey(sha256: { SHA256.hash(data: $0) })
/// let request = try client.authorizationRequest(redirectURI: "com.example.app:/signed-in", proofKey: proofKey)
/// let callback = try await browser.open(request.url)
/// try await tokens.signIn(with: client.token(from: callback, for: request))
/// ```
///
/// Use each request once. See RFC 6749, section 4.1, and RFC 7636.
public struct AuthorizationRequest: Sendable {
    /// The URL to show to the user.
    public let url: URL
    /// The URI of the app to which the browser is redirected.
    public let redirectURI: String
    /// The random text that tells the answer to this request from forged ones.
    public let state: String
    let proofKey: ProofKey
    let resources: [String]
    let parameters: [(name: String, value: String)]

    /// The code in the URL that the browser was redirected to.
    ///
    /// - Parameters:
    ///   - callback: The URL.
    ///   - server: The server that was asked.
    /// - Returns: The code.
    /// - Throws: ``AuthorizationAnswerError`` for an answer to another request or of another server, ``OAuthError`` for a
    ///   refusal.
    func code(from callback: URL, of server: AuthorizationServer) throws -> String {
        let text = callback.absoluteString
        let parts = text.split(separator: "#", maxSplits: 1)[0].split(separator: "?", maxSplits: 1)
        guard parts.first.map(String.init) == redirectURI.split(separator: "?", maxSplits: 1).first.map(String.init)
        else { throw AuthorizationAnswerError(.otherRedirectURI) }
        var values: [String: String] = [:]
        for item in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = FormText.decoded(pair[0]), let value = FormText.decoded(pair.count > 1 ? pair[1] : "")
            else {
                throw AuthorizationAnswerError(.malformed)
            }
            // A second value could be that of an attacker (RFC 6749, section 3.1).
            guard values.updateValue(value, forKey: name) == nil else { throw AuthorizationAnswerError(.malformed) }
        }
        guard values["state"] == state else { throw AuthorizationAnswerError(.otherState) }
        if let issuer = values["iss"] {
            guard server.issuer?.utf8.elementsEqual(issuer.utf8) == true else {
                throw AuthorizationAnswerError(.otherIssuer)
            }
        } else if server.namesIssuerInAnswers {
            throw AuthorizationAnswerError(.otherIssuer)
        }
        if let code = values["error"] {
            throw OAuthError(.init(code), serverDescription: values["error_description"])
        }
        guard let code = values["code"], !code.isEmpty else { throw AuthorizationAnswerError(.malformed) }
        return code
    }
}

extension AuthorizationRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A fixed word, since the URL has the state.
    public var description: String { "an authorization request" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The URL that came back from the browser is no answer to the request.
public struct AuthorizationAnswerError: DescribableError, Hashable {
    /// The reason, as an open set.
    public struct Reason: Sendable, Hashable {
        let sentence: String

        /// The URL is not the redirect URI of the request.
        public static let otherRedirectURI = Reason(sentence: "it is not at the redirect URI of the request")
        /// The state is missing, or is another one.
        public static let otherState = Reason(
            sentence: "its state is not that of the request, so another site may have made it")
        /// The issuer is missing, or is another one (RFC 9207).
        public static let otherIssuer = Reason(
            sentence: "its issuer is not the server of the request, so another server may have made it")
        /// A parameter is missing, is there twice, or cannot be decoded.
        public static let malformed = Reason(sentence: "a parameter is missing, is there twice, or cannot be decoded")
    }

    /// The reason.
    public let reason: Reason

    init(_ reason: Reason) { self.reason = reason }

    /// The reason, and the way to mend it; never the URL.
    public var description: String {
        "The URL from the browser is no answer to this request: \(reason.sentence). Let the user start again."
    }
}
