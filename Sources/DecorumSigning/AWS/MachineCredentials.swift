#if Signing
public import Decorum
public import Foundation
import HTTPTypes

/// Credentials of AWS in one of the places where the tools of AWS look for them.
///
/// | Place | Variables |
/// |---|---|
/// | ``Place/environment`` | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` |
/// | ``Place/webIdentity`` | `AWS_WEB_IDENTITY_TOKEN_FILE`, `AWS_ROLE_ARN`, `AWS_ROLE_SESSION_NAME`, `AWS_REGION` |
/// | ``Place/profile(_:)`` | `AWS_PROFILE`, `AWS_CONFIG_FILE`, `AWS_SHARED_CREDENTIALS_FILE` |
/// | ``Place/container`` | `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`, `AWS_CONTAINER_AUTHORIZATION_TOKEN`, `…_TOKEN_FILE` |
/// | ``Place/instance`` | `AWS_EC2_METADATA_DISABLED`, `AWS_EC2_METADATA_SERVICE_ENDPOINT`, `…_ENDPOINT_MODE` |
///
/// `AWS_ENDPOINT_URL_STS` names another token service, and `AWS_CONTAINER_CREDENTIALS_FULL_URI` another endpoint. A URI in a
/// variable must have `https`, or be of this machine, of 169.254.170.2, 169.254.170.23 or fd00:ec2::23; otherwise nothing is
/// sent. Files are read for each fetch, since other processes replace what is in them. An empty variable counts as not set.
public struct MachineCredentials: AWSCredentialSource {
    /// A place.
    public enum Place: Sendable, Hashable {
        /// The environment of the process.
        case environment
        /// The token service, which gives a role for the token of another identity provider, as in Kubernetes.
        case webIdentity
        /// A profile in the files `~/.aws/config` and `~/.aws/credentials`; by default the one of `AWS_PROFILE`, or `default`.
        ///
        /// It may have keys, a `credential_process`, or `role_arn` with `web_identity_token_file`. A profile of single sign-on
        /// (`sso_…`), and one that assumes a role with the keys of another (`source_profile`, `credential_source`), is refused
        /// by name: have a `credential_process` run `aws configure export-credentials` for it.
        ///
        /// The program of a `credential_process` runs without a shell, for at most a minute, and writes at most 64 KiB; what
        /// it writes is in no log and no error. iOS and its relatives cannot start it.
        case profile(_ name: String? = nil)
        /// The endpoint of a container of ECS, of EKS Pod Identity, or of Greengrass.
        case container
        /// The metadata service of an instance of EC2, by version 2 alone (IMDSv2).
        case instance
    }

    /// The largest number of bytes of an answer, of a file with a token, and of what a program writes.
    static let sizeLimit = 64 << 10

    private let place: Place
    let connection: any Connection
    let variables: [String: String]
    let clock: any DatedClock

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - place: The place.
    ///   - connection: Sends to the token service and to the metadata: a transport alone. Layers that follow redirections,
    ///     store, replay, or log without redaction are refused, a proxy too for the container and the instance, and any log of
    ///     fields for the instance.
    ///   - environment: The variables, which a `credential_process` gets too; by default the ones of the process.
    ///   - clock: The clock of the time limits; it must be that of the transport.
    public init(
        _ place: Place, over connection: some Connection,
        environment: [String: String] = ProcessInfo.processInfo.environment, clock: any DatedClock = SystemClock()
    ) {
        (self.place, self.connection, variables, self.clock) = (place, connection, environment, clock)
    }

    /// Returns the credentials; nil if no variable and no file asks for the place, and for an instance without a role or whose
    /// service is turned off.
    ///
    /// - Throws: ``SigningError`` for a mistake in the variables or in a file, with its line and key and never a value,
    ///   ``AWSCredentialError`` for a program or a service that gives none, and the errors of the connection.
    public func credentials() async throws -> AWSCredentials? {
        switch place {
        case .environment:
            guard let id = self["AWS_ACCESS_KEY_ID"] else { return nil }
            return try AWSCredentials(
                accessKeyID: id, secretAccessKey: required("AWS_SECRET_ACCESS_KEY", with: "AWS_ACCESS_KEY_ID"),
                sessionToken: self["AWS_SESSION_TOKEN"])
        case .webIdentity: return try await ofWebIdentity()
        case .profile(let name): return try await ofProfile(name)
        case .container: return try await ofContainer()
        case .instance: return try await ofInstance()
        }
    }

    subscript(name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

    private func required(_ name: String, with other: String) throws(SigningError) -> String {
        guard let value = self[name] else {
            throw SigningError(.noCredentials, "\(other) is set without \(name). Set both variables, or neither.")
        }
        return value
    }
}

extension MachineCredentials: SecretHolder {
    /// The place.
    public var description: String {
        switch place {
        case .environment: "the environment"
        case .webIdentity: "the token service of AWS"
        case .profile(let name): name.map { "the AWS profile \($0.quoted)" } ?? "the AWS profile"
        case .container: "the credential endpoint of the container"
        case .instance: "the metadata service of the instance"
        }
    }
}

extension MachineCredentials {
    private func ofWebIdentity() async throws -> AWSCredentials? {
        guard let file = self["AWS_WEB_IDENTITY_TOKEN_FILE"] else { return nil }
        let role = try required("AWS_ROLE_ARN", with: "AWS_WEB_IDENTITY_TOKEN_FILE")
        let body = Body(form: [
            "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": role,
            "RoleSessionName": self["AWS_ROLE_SESSION_NAME"] ?? "decorum-\(HTTPDate(clock.date).seconds)",
            "WebIdentityToken": try token(inFile: file, of: "AWS_WEB_IDENTITY_TOKEN_FILE"),
        ])
        return try await ask(.post(tokenService(), body: body)).credentials(from: description)
    }

    private func tokenService() throws(SigningError) -> String {
        for variable in ["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"] {
            if let text = self[variable] { return try checked(text, of: variable) }
        }
        guard let region = self["AWS_REGION"] ?? self["AWS_DEFAULT_REGION"] else { return "https://sts.amazonaws.com/" }
        guard region.wholeMatch(of: /[A-Za-z0-9-]+/) != nil else {
            throw SigningError(
                .invalidConfiguration, "The AWS region has characters that no region has. Correct AWS_REGION.")
        }
        return "https://sts.\(region).amazonaws.com\(region.hasPrefix("cn-") ? ".cn" : "")/"
    }

    private func ofContainer() async throws -> AWSCredentials? {
        let (relative, full) = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
        // Anything but a path could name another host.
        let local = self[relative].map { $0.hasPrefix("/") ? "http://169.254.170.2" + $0 : "" }
        guard let uri = local ?? self[full] else { return nil }
        let url = try checked(uri, of: local == nil ? full : relative)
        let variable = "AWS_CONTAINER_AUTHORIZATION_TOKEN"
        let token =
            try self[variable + "_FILE"].map { try self.token(inFile: $0, of: variable + "_FILE") } ?? self[variable]
        guard token.map(HTTPField.isValidValue) ?? true else {
            throw SigningError(
                .noCredentials,
                "The authorization token of the container has a control character. Look for a line break.")
        }
        return try await ask(.get(url), with: token, in: .authorization).credentials(from: description)
    }

    private func ofInstance() async throws -> AWSCredentials? {
        guard self["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else { return nil }
        let isIPv6 = self["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]?.lowercased() == "ipv6"
        let variable = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
        let given = try checked(
            self[variable] ?? (isIPv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254"), of: variable)
        let base = given.hasSuffix("/") ? given + "latest/" : given + "/latest/"
        let session: CredentialAnswer
        do {
            session = try await ask(
                .put(base + "api/token", fields: [.metadataTokenLifetime: "21600"], body: .empty))
        } catch let error as any ReachabilityError where error.meansServerNotReached {
            throw AWSCredentialError(
                "The metadata service of the instance cannot be reached. "
                    + "Set other AWS credentials, or AWS_EC2_METADATA_DISABLED=true outside of EC2.",
                mayPass: true)
        }
        let token = try session.word(from: description)
        let list = base + "meta-data/iam/security-credentials/"
        let roles = try await ask(.get(list), with: token, in: .metadataToken)
        if roles.status == .notFound { return nil }
        let role = PercentCoding.encode(try roles.word(from: description))
        return try await ask(.get(list + role), with: token, in: .metadataToken).credentials(from: description)
    }

    /// Sends a request within limits of time and size, with a token if there is one.
    ///
    /// - Throws: ``SigningError`` for a connection that must not see credentials, ``AWSCredentialError`` at the limits, and the
    ///   errors of the connection.
    private func ask(
        _ original: Request, with token: String? = nil, in field: HTTPField.Name = .authorization
    ) async throws -> CredentialAnswer {
        try checkConnection()
        let limit: Duration = place == .instance ? .seconds(2) : place == .container ? .seconds(5) : .seconds(20)
        let instant = clock.instant(after: limit)
        var request = original
        if let token {
            request.head.headerFields[field] = token
            request.options.declareSecret([field])
        }
        request.options.deadline = instant
        request.options.bodyDeadline = instant
        request.options.skipsAuthentication = true
        do {
            let answer = try await TimeLimitWatch(clock: clock).leavableValue(until: instant) { [connection, request] in
                let response = try await connection.send(request)
                return CredentialAnswer(
                    try await response.body.data(upTo: Self.sizeLimit), status: response.head.status)
            }
            if let answer { return answer }
        } catch is BodyLimitError {
            return CredentialAnswer(Data())
        } catch let error as TransportError where error.code == .deadlineExceeded {}
        throw AWSCredentialError(
            "No answer came in time from \(description). Try again, or set other AWS credentials.", mayPass: true)
    }

    /// Credentials must not be stored, recorded or sent elsewhere on the way.
    private func checkConnection() throws(SigningError) {
        let isLocal = place == .container || place == .instance
        let layer = connection.layers.first { layer in
            let facts = layer.facts
            return [.caching, .redirection].contains(layer.role) || facts.contains(.sharesResponses)
                // A double invents its answers, and a cassette has them from a file.
                || facts.contains(.answers) && !facts.contains(.inventsAnswers)
                || facts.contains(.records) && !facts.contains(.redacts)
                // Metadata is not encrypted; a double sends nothing.
                || isLocal && layer.role == .hostPolicy
                || isLocal && layer.role == .transport && !facts.contains(.usesNoProxy)
                    && layer.sending.times.upperBound > 0
                // Nothing tells a log that the whole content of an answer is a token.
                || place == .instance && facts.contains(.recordsFields)
        }
        guard let layer else { return }
        throw SigningError(
            .invalidConfiguration,
            "The connection for AWS credentials has the layer `\(layer.name)`\(isLocal ? ", which may use a proxy" : ""). "
                + "Give it a transport alone\(isLocal ? ", such as `CurlConnection` without a proxy" : "").")
    }

    /// The content of a file that holds a token.
    private func token(inFile path: String, of variable: String) throws(SigningError) -> String {
        let text = String(limitedContentOf: path, upTo: Self.sizeLimit)?.trimmingCharacters(in: .whitespacesAndNewlines)
        guard let text, !text.isEmpty else {
            throw SigningError(
                .noCredentials,
                "The file of the \(variable) cannot be read, is empty or has more than 64 KiB. Look at its path.")
        }
        return text
    }

    /// A URI of the environment, if it leads to a place that may give or get credentials.
    private func checked(_ uri: String, of variable: String) throws(SigningError) -> String {
        var hosts: Set<String> = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"]
        if place == .instance { hosts.formUnion(["169.254.169.254", "[fd00:ec2::254]"]) }
        guard let origin = try? Origin(uri), !origin.isUnencrypted || hosts.contains(origin.host),
            !uri.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "\\") })
        else {
            throw SigningError(
                .invalidConfiguration,
                "The URI in \(variable) leads neither to this machine, nor to a metadata service of AWS, nor to https. "
                    + "Correct it.")
        }
        return uri
    }
}

// swift-format-ignore: NeverForceUnwrap
extension HTTPField.Name {
    fileprivate static let metadataToken = HTTPField.Name("X-aws-ec2-metadata-token")!
    fileprivate static let metadataTokenLifetime = HTTPField.Name("X-aws-ec2-metadata-token-ttl-seconds")!
}
#endif
