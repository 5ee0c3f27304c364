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
    public static let standard = Redaction(
        fields: StandardName.fields,
        queryItems: SecretNames(StandardName.names(in: .items)),
        jsonPaths: Set(StandardName.names(in: .json).map { JSONPattern("**." + $0) }),
        formNames: SecretNames(StandardName.names(in: .items)),
        fieldNames: SecretNames(StandardName.names(in: .fields).filter { $0.hasPrefix("*") }),
        secretPaths: true,
        opaqueNames: [
            "*codes", "*key", "api_keys", "code", "keys", "params", "rt", "secrets", "session", "sid", "ticket",
            "tickets",
        ]
    )
}

/// A name of the standard list, and the kinds of places to which it applies.
private struct StandardName: ExpressibleByStringLiteral {
    struct Places: OptionSet {
        let rawValue: Int

        static let fields = Places(rawValue: 1)
        /// Items of queries, fragments, path parameters and forms.
        static let items = Places(rawValue: 2)
        /// Members of JSON, elements and attributes of XML and HTML.
        static let json = Places(rawValue: 4)
    }

    let name: String
    let places: Places

    init(stringLiteral name: String) {
        self.init(name, notIn: [])
    }

    init(_ name: String, notIn exceptions: Places) {
        self.name = name
        places = Places([.fields, .items, .json]).subtracting(exceptions)
    }

    static func names(in place: Places) -> [String] {
        all.filter { $0.places.contains(place) }.map(\.name)
    }

    /// The names without an asterisk, in the spelling of fields.
    static var fields: Set<HTTPField.Name> {
        let names = names(in: .fields).filter { !$0.hasPrefix("*") }.map { $0.replacing("_", with: "-") }
        return Set((names + names.map { "X-" + $0 }).compactMap { HTTPField.Name($0) })
    }

    // Letter case, hyphens and underscores are ignored, so `access_token` stands for `accessToken` too. Under a name
    // without an asterisk, numbers are secret as well, so some names are listed in both forms.
    private static let all: [StandardName] = names + endings + fieldNames + itemNames

    private static let names: [StandardName] = [
        "access_key_id", "access_token", "api_key", "api_secret", "api_token", "app_secret", "assertion", "auth_code",
        "auth_key", "auth_token", "authorization", "authorization_code", "bearer_token", "card_number", "cc_number",
        "client_assertion", "client_secret", "code_verifier", "consumer_secret", "credit_card_number", "csrf_token",
        "cvc", "cvv", "cvv2", "device_code", "id_token", "jwt", "new_password", "old_password", "otp", "passphrase",
        "passwd", "password", "password_confirmation", "private_key", "pwd", "refresh_token", "secret",
        "secret_access_key", "secret_key", "security_token", "session_id", "session_key", "session_token",
        "signing_key", "token", "user_code", "user_password", "webhook_secret", "xsrf_token",
    ]

    private static let endings: [StandardName] = [
        "*access_key", "*access_key_id", "*account_key", "*api_key", "*application_key", "*auth", "*auth_key",
        "*authorization", "*bearer", "*cookie", "*cookies", "*credential", "*credentials", "*csrf", "*encryption_key",
        "*jwt", "*magic_link", "*otp", "*pass", "*passcode", "*passphrase", "*kennwort", "*mot_de_passe", "*passwd",
        "*password", "*passwort", "*private_key", "*pwd", "*secret", "*secret_key", "*session_id", "*session_key",
        "*shared_key", "*signing_key", "*subscription_key", "*token", "*tokens", "*xsrf",
        // In JSON these are signatures of functions, and objects.
        StandardName("*signature", notIn: .json), StandardName("*signature_256", notIn: .json),
        StandardName("*session", notIn: .json),
    ]

    /// Names of fields; servers that echo fields do so in JSON.
    private static let fieldNames: [StandardName] = [
        // In other places, names with these endings may be settings, whose values are numbers and switches; so only the
        // endings apply.
        StandardName("Cookie", notIn: [.items, .json]), StandardName("Set-Cookie", notIn: [.items, .json]),
        StandardName("X-Auth", notIn: [.items, .json]),

        "Authentication-Info", "Cookie2", "DPoP", "Proxy-Authorization", "Proxy-Authentication-Info",
        "Sec-Token-Binding", "Sec-WebSocket-Protocol", "Set-Cookie2", "X-Functions-Key", "X-GitHub-OTP", "X-User-Token",
    ]

    /// Names of items, which have many other meanings in other places.
    private static let itemNames: [StandardName] =
        [
            "oauth_signature", "oauth_verifier", "PHPSESSID", "SAMLResponse", "X-Amz-Signature", "X-Goog-Signature",
        ] + ["pass", "pin", "pw"].map { StandardName($0, notIn: .fields) }
        + [
            "*app_id", "*key", "*key_pair_id", "auth", "code", "key", "session", "sid", "sig", "sign", "signature",
            "ticket",
        ].map { StandardName($0, notIn: [.fields, .json]) }
}
