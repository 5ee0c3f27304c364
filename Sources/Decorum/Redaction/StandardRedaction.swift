import HTTPTypes

extension Redaction {
    /// A redaction with the usual names of credentials and the shapes of tokens.
    ///
    /// One list of names applies to fields, to the items of URLs and forms, and to JSON, XML and HTML. Names that are
    /// too common in one of them, such as `key` and `code` in JSON, do not apply there. Field names with the prefix
    /// `X-` count too.
    ///
    /// Fields that explain a failure and grant no access are shown: `WWW-Authenticate`, a challenge; `Content-Digest`,
    /// which every recipient can compute from the content; `Signature-Input` and `Accept-Signature`, which describe
    /// what is signed and how. The `Signature` itself is not shown, since it can be sent again while it is valid.
    /// `Sec-WebSocket-Protocol` is not shown, because clients that cannot set fields send their tokens in it.
    public static let standard: Redaction = {
        var redaction = Redaction(
            // Names in queries, fragments, path parameters and forms have many other meanings in other places.
            queryItems: SecretNames(
                names + signatures + shortNames + [
                    "*app_id", "*key", "*key_pair_id", "auth", "code", "key", "session", "sid", "sig", "sign",
                    "signature", "ticket",
                ]),
            jsonPaths: Set((names + shortNames).map { JSONPattern("**." + $0) }))
        redaction.formNames = redaction.queryItems
        // In other places, names with the endings of these three may be settings, whose values are numbers and switches;
        // so only the endings apply.
        let ofFields = names + signatures + ["Cookie", "Set-Cookie", "X-Auth"]
        let wholeNames = ofFields.filter { !$0.hasPrefix("*") }.map { $0.replacing("_", with: "-") }
        redaction.fields = Set((wholeNames + wholeNames.map { "X-" + $0 }).compactMap { HTTPField.Name($0) })
        redaction.fieldNames = SecretNames(ofFields.filter { $0.hasPrefix("*") })
        redaction.secretPaths = true
        redaction.opaqueNames = [
            "*codes", "*key", "api_keys", "code", "keys", "params", "rt", "secrets", "session", "sid", "ticket",
            "tickets",
        ]
        return redaction
    }()

    // In JSON these are signatures of functions, and objects.
    private static let signatures = ["*signature", "*signature_256", "*session"]
    private static let shortNames = ["pass", "pin", "pw"]

    /// The names that count in all places.
    ///
    /// Letter case, hyphens and underscores are ignored, so `access_token` stands for `accessToken` too. Under a name without
    /// an asterisk, numbers are secret as well, so some names are listed in both forms.
    private static let names = [
        "access_key_id", "access_token", "api_key", "api_secret", "api_token", "app_secret", "assertion", "auth_code",
        "auth_key", "auth_token", "authorization", "authorization_code", "bearer_token", "card_number", "cc_number",
        "client_assertion", "client_secret", "code_verifier", "consumer_secret", "credit_card_number", "csrf_token",
        "cvc", "cvv", "cvv2", "device_code", "id_token", "jwt", "new_password", "old_password", "otp", "passphrase",
        "passwd", "password", "password_confirmation", "private_key", "pwd", "refresh_token", "secret",
        "secret_access_key", "secret_key", "security_token", "session_id", "session_key", "session_token",
        "signing_key", "token", "user_code", "user_password", "webhook_secret", "xsrf_token", "*access_key",
        "*access_key_id", "*account_key", "*api_key", "*application_key", "*auth", "*auth_key", "*authorization",
        "*bearer", "*cookie", "*cookies", "*credential", "*credentials", "*csrf", "*encryption_key", "*jwt",
        "*magic_link", "*otp", "*pass", "*passcode", "*passphrase", "*kennwort", "*mot_de_passe", "*passwd",
        "*password", "*passwort", "*private_key", "*pwd", "*secret", "*secret_key", "*session_id", "*session_key",
        "*shared_key", "*signing_key", "*subscription_key", "*token", "*tokens", "*xsrf", "oauth_signature",
        "oauth_verifier", "PHPSESSID", "SAMLResponse", "X-Amz-Signature", "X-Goog-Signature",
        // Servers that echo fields do so in JSON.
        "Authentication-Info", "Cookie2", "DPoP", "Proxy-Authorization", "Proxy-Authentication-Info",
        "Sec-Token-Binding", "Sec-WebSocket-Protocol", "Set-Cookie2", "X-Functions-Key", "X-GitHub-OTP", "X-User-Token",
    ]
}
