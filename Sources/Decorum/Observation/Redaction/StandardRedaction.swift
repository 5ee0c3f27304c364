import HTTPTypes

extension Redaction {
    /// A redaction that knows the usual names of credentials.
    ///
    /// `WWW-Authenticate` is shown: a challenge holds no secret of the client's and explains a `401`.
    public static let standard = Redaction(
        fields: Set(standardFields.compactMap { HTTPField.Name($0) }),
        queryItems: SecretNames(standardNames + standardEndings + standardQueryItems),
        jsonPaths: Set((standardNames + standardEndings).map { JSONPattern("**." + $0) }),
        formNames: SecretNames(standardNames + standardEndings + standardQueryItems),
        fieldNames: SecretNames(standardFieldEndings.map { "*-" + $0 })
    )

    private static let standardFields = [
        "Authorization", "Authentication-Info", "Cookie", "Cookie2", "DPoP", "Proxy-Authorization",
        "Proxy-Authentication-Info", "Set-Cookie", "Set-Cookie2", "X-Forwarded-Authorization",
        "X-Original-Authorization",

        "API-Key", "ApiKey", "X-API-Key", "X-ApiKey", "X-API-Token", "X-API-Secret", "X-Access-Token", "X-Auth",
        "X-Auth-Key", "X-Auth-Token", "X-CSRF-Token", "X-CSRFToken", "X-XSRF-Token", "X-Refresh-Token", "X-Secret",
        "X-Secret-Key", "X-Session-Id", "X-Session-Token", "X-Subject-Token", "X-Token", "X-User-Token",

        "DD-API-KEY", "DD-APPLICATION-KEY", "Deploy-Token", "Job-Token", "Ocp-Apim-Subscription-Key", "Private-Token",
        "X-Amz-Security-Token", "X-Consul-Token", "X-Forwarded-Access-Token", "X-Functions-Key",
        "X-Gitlab-Token", "X-Goog-Api-Key", "X-Goog-IAM-Authorization-Token", "X-Plex-Token",
        "X-Shopify-Access-Token", "X-Vault-Token",
    ]

    // Letter case, hyphens and underscores do not count, so `access_token` stands for `accessToken` too.
    private static let standardNames = [
        "access_key_id", "access_token", "api_key", "api_secret", "api_token", "app_secret", "assertion", "auth_token",
        "authorization", "bearer_token", "client_assertion", "client_secret", "code_verifier", "consumer_secret",
        "csrf_token", "device_code", "id_token", "jwt", "new_password", "old_password", "otp", "passphrase", "passwd",
        "password", "password_confirmation", "private_key", "pwd", "refresh_token", "secret", "secret_access_key",
        "secret_key", "security_token", "session_id", "session_key", "session_token", "signing_key", "token",
        "user_password", "webhook_secret", "xsrf_token",
    ]

    private static let standardEndings = [
        "*access_key", "*api_key", "*auth", "*cookie", "*cookies", "*credential", "*credentials", "*passphrase",
        "*passwd", "*password", "*private_key", "*secret", "*secret_key", "*session_key", "*token", "*tokens",
    ]

    /// What stands behind the last hyphens in the names of fields that hold secrets.
    static let standardFieldEndings = [
        "access-key", "api-key", "auth", "auth-key", "password", "secret", "secret-key", "session", "session-id",
        "token",
    ]

    // Too common in content to be replaced there: `key`, `code` and `signature` name many other things in JSON.
    private static let standardQueryItems = [
        "auth", "AWSAccessKeyId", "code", "jsessionid", "key", "oauth_signature", "oauth_token", "oauth_verifier",
        "pass", "PHPSESSID", "SAMLResponse", "session", "sig", "sign", "signature", "sid", "subscription-key", "ticket",
        "X-Amz-Credential", "X-Amz-Security-Token", "X-Amz-Signature", "X-API-Key", "X-Goog-Credential",
        "X-Goog-Signature",
    ]
}
