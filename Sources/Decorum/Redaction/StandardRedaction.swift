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
            "api_keys", "backup_codes", "code", "codes", "key", "keys", "license_key", "recovery_codes", "rt",
            "secrets", "session", "sid", "ticket", "tickets",
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
        "access_key_id", "access_token", "api_key", "api_secret", "api_token", "apikey", "app_secret", "assertion",
        "authorization_code",
        "auth_code", "auth_key", "auth_token", "card_number", "cc_number", "credit_card_number", "cvc", "cvv", "cvv2",
        "authorization", "bearer_token", "client_assertion", "client_secret",
        "code_verifier", "consumer_secret", "csrf_token", "csrftoken", "device_code", "id_token", "jwt", "new_password",
        "old_password", "otp", "passphrase", "passwd", "password", "password_confirmation", "private_key", "pwd",
        "refresh_token", "secret", "secret_access_key", "secret_key", "security_token", "session_id", "session_key",
        "session_token", "signing_key", "token", "user_code", "user_password", "webhook_secret", "xsrf_token",
    ]

    private static let endings: [StandardName] = [
        "*access_key", "*access_key_id", "*account_key", "*api_key", "*application_key", "*auth", "*auth_key",
        "*authorization", "*bearer", "*cookie", "*cookies", "*credential", "*credentials", "*csrf", "*encryption_key",
        "*jwt", "*otp", "*passcode", "*passphrase", "*kennwort", "*mot_de_passe", "*passwd", "*password", "*passwort",
        "*private_key", "*pwd", "*secret", "*secret_key",
        "*session_id", "*session_key", "*shared_key", "*signing_key", "*subscription_key", "*user_pass", "*token",
        "*tokens", "*xsrf",
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
        "Sec-Token-Binding", "Sec-WebSocket-Protocol", "Set-Cookie2", "X-Forwarded-Authorization",
        "X-Original-Authorization",

        "DD-API-KEY", "DD-APPLICATION-KEY", "Deploy-Token", "Job-Token", "Ocp-Apim-Subscription-Key", "Private-Token",
        "X-Amz-Security-Token", "X-Consul-Token", "X-Forwarded-Access-Token", "X-Functions-Key", "X-GitHub-OTP",
        "X-Gitlab-Token", "X-Goog-Api-Key",
        "X-Goog-IAM-Authorization-Token", "X-Plex-Token", "X-Shopify-Access-Token", "X-Subject-Token", "X-User-Token",
        "X-Vault-Token",
    ]

    /// Names of items, which have many other meanings in other places.
    private static let itemNames: [StandardName] = [
        "AWSAccessKeyId", "jsessionid", "oauth_signature", "oauth_token", "oauth_verifier", "PHPSESSID", "SAMLResponse",
        "X-Amz-Credential", "X-Amz-Signature", "X-Goog-Credential", "X-Goog-Signature",
        StandardName("auth", notIn: [.fields, .json]), StandardName("code", notIn: [.fields, .json]),
        StandardName("key", notIn: [.fields, .json]), StandardName("pass", notIn: .fields),
        StandardName("pw", notIn: .fields),
        StandardName("pin", notIn: .fields),
        StandardName("session", notIn: [.fields, .json]), StandardName("sid", notIn: [.fields, .json]),
        StandardName("sig", notIn: [.fields, .json]), StandardName("sign", notIn: [.fields, .json]),
        StandardName("signature", notIn: [.fields, .json]), StandardName("subscription-key", notIn: .json),
        StandardName("ticket", notIn: [.fields, .json]),
    ]
}
