#if Signing
public import Decorum
public import Foundation
import HTTPTypes

/// Credentials of AWS that a service gives: for the token of another identity provider, to a container, or to an instance.
///
/// | Kind | Variables |
/// |---|---|
/// | ``Kind/webIdentity`` | `AWS_WEB_IDENTITY_TOKEN_FILE`, `AWS_ROLE_ARN`, `AWS_ROLE_SESSION_NAME`, `AWS_REGION` |
/// | ``Kind/container`` | `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`, `AWS_CONTAINER_AUTHORIZATION_TOKEN`, `…_TOKEN_FILE` |
/// | ``Kind/instance`` | `AWS_EC2_METADATA_DISABLED`, `AWS_EC2_METADATA_SERVICE_ENDPOINT`, `…_ENDPOINT_MODE` |
///
/// `AWS_ENDPOINT_URL_STS` names another token service, and `AWS_CONTAINER_CREDENTIALS_FULL_URI` another endpoint. A URI in a
/// variable must have `https`, or be of this machine, of 169.254.170.2, 169.254.170.23 or fd00:ec2::23; otherwise nothing is
/// sent. Files of tokens are read for each fetch, since their tokens are replaced.
public struct RemoteCredentials: AWSCredentialSource {
    /// The kind of a service.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The token service, which gives a role for the token of another identity provider, as in Kubernetes.
        case webIdentity
        /// The endpoint of a container of ECS, of EKS Pod Identity, or of Greengrass.
        case container
        /// The metadata service of an instance of EC2, by version 2 alone (IMDSv2).
        case instance
    }

    private let kind: Kind
    private let connection: any Connection
    private let environment: AWSEnvironment
    private let clock: any DatedClock

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - kind: The kind of the service.
    ///   - connection: Sends to the service, as in ``AWSCredentialChain/standard(over:environment:clock:spawner:)``.
    ///   - environment: The variables; by default the ones of the process.
    ///   - clock: The clock of the time limits.
    public init(
        _ kind: Kind, over connection: some Connection,
        environment: [String: String] = ProcessInfo.processInfo.environment, clock: any DatedClock = SystemClock()
    ) {
        self.kind = kind
        self.connection = connection
        self.environment = AWSEnvironment(environment)
        self.clock = clock
    }

    /// Returns the credentials; nil if no variable asks for the service, and for an instance without a role or whose service is
    /// turned off.
    ///
    /// - Throws: ``SigningError`` for a mistake in the variables, ``AWSCredentialError`` for a service that gives none, and the
    ///   errors of the connection.
    public func credentials() async throws -> AWSCredentials? {
        switch kind {
        case .webIdentity: try await ofWebIdentity()
        case .container: try await ofContainer()
        case .instance: try await ofInstance()
        }
    }
}

extension RemoteCredentials: SecretHolder {
    /// The kind.
    public var description: String { "AWS credentials by \(kind.rawValue)" }
}

extension RemoteCredentials {
    private func ofWebIdentity() async throws -> AWSCredentials? {
        guard let file = environment["AWS_WEB_IDENTITY_TOKEN_FILE"] else { return nil }
        guard let role = environment["AWS_ROLE_ARN"] else {
            throw SigningError(
                .noCredentials,
                "AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN. Set both variables, or neither.")
        }
        let token = try MetadataEndpoint.text(ofFile: file, variable: "AWS_WEB_IDENTITY_TOKEN_FILE")
        let session = environment["AWS_ROLE_SESSION_NAME"] ?? "decorum-\(HTTPDate(clock.date).seconds)"
        let body = Body(form: [
            "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": role, "RoleSessionName": session,
            "WebIdentityToken": token,
        ])
        let endpoint = MetadataEndpoint(
            name: "The token service of AWS", connection: connection, clock: clock, limit: .seconds(20))
        return try await endpoint.credentials(
            for: .post(tokenService(), fields: [.accept: "application/json"], body: body))
    }

    private func tokenService() throws -> String {
        if let text = environment["AWS_ENDPOINT_URL_STS"] ?? environment["AWS_ENDPOINT_URL"] {
            return try MetadataEndpoint.checked(text, variable: "AWS_ENDPOINT_URL_STS")
        }
        guard let region = environment.region else { return "https://sts.amazonaws.com/" }
        guard region.allSatisfy({ $0 == "-" || $0.isASCIILetterOrDigit }) else {
            throw SigningError(
                .invalidConfiguration, "The AWS region has characters that no region has. Correct AWS_REGION.")
        }
        return "https://sts.\(region).amazonaws.com\(region.hasPrefix("cn-") ? ".cn" : "")/"
    }

    private func ofContainer() async throws -> AWSCredentials? {
        let url: String
        if let path = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] {
            let variable = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
            // Anything but a path could name another host.
            guard path.hasPrefix("/") else { throw MetadataEndpoint.refusedURI(variable) }
            url = try MetadataEndpoint.checked("http://169.254.170.2" + path, variable: variable)
        } else if let uri = environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] {
            url = try MetadataEndpoint.checked(uri, variable: "AWS_CONTAINER_CREDENTIALS_FULL_URI")
        } else {
            return nil
        }
        var request = try Request.get(url)
        if let token = try containerToken() {
            guard HTTPField.isValidValue(token) else {
                throw SigningError(
                    .noCredentials,
                    "The authorization token of the container has a control character. Look for a line break.")
            }
            request.head.headerFields[.authorization] = token
            request.options.declareSecret([.authorization])
        }
        let endpoint = MetadataEndpoint(
            name: "The credential endpoint of the container", connection: connection, clock: clock, limit: .seconds(5))
        return try await endpoint.credentials(for: request)
    }

    private func containerToken() throws -> String? {
        let variable = "AWS_CONTAINER_AUTHORIZATION_TOKEN"
        guard let file = environment[variable + "_FILE"] else { return environment[variable] }
        return try MetadataEndpoint.text(ofFile: file, variable: variable + "_FILE")
    }

    private func ofInstance() async throws -> AWSCredentials? {
        guard environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else { return nil }
        let endpoint = MetadataEndpoint(
            name: "The metadata service of the instance", connection: connection, clock: clock, limit: .seconds(2))
        let base = try instanceBase()
        var request = try Request.put(base + "/latest/api/token", body: .empty)
        request.head.headerFields[.metadataTokenLifetime] = "21600"
        let session: MetadataEndpoint.Answer
        do {
            session = try await endpoint.send(request)
        } catch let error as any ReachabilityError where error.meansServerNotReached {
            throw AWSCredentialError(
                "\(endpoint.name) cannot be reached. "
                    + "Set other AWS credentials, or AWS_EC2_METADATA_DISABLED=true outside of EC2.",
                mayPass: true)
        }
        guard session.head.status == .ok else { throw endpoint.refusal(session) }
        guard let token = session.word, token.utf8.count <= 4096 else { throw endpoint.unusable }

        func get(_ url: String) throws -> Request {
            var request = try Request.get(url, fields: [.metadataToken: token])
            request.options.declareSecret([.metadataToken])
            return request
        }
        let list = base + "/latest/meta-data/iam/security-credentials/"
        let roles = try await endpoint.send(get(list))
        if roles.head.status == .notFound { return nil }
        guard roles.head.status == .ok else { throw endpoint.refusal(roles) }
        guard let role = roles.word else { throw endpoint.unusable }
        return try await endpoint.credentials(for: get(list + PercentCoding.encode(role)))
    }

    private func instanceBase() throws -> String {
        guard let text = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] else {
            let isIPv6 = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]?.lowercased() == "ipv6"
            return isIPv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254"
        }
        let url = try MetadataEndpoint.checked(
            text, variable: "AWS_EC2_METADATA_SERVICE_ENDPOINT", also: ["169.254.169.254", "[fd00:ec2::254]"])
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}

// swift-format-ignore: NeverForceUnwrap
extension HTTPField.Name {
    fileprivate static let metadataToken = HTTPField.Name("X-aws-ec2-metadata-token")!
    fileprivate static let metadataTokenLifetime = HTTPField.Name("X-aws-ec2-metadata-token-ttl-seconds")!
}

extension Character {
    fileprivate var isASCIILetterOrDigit: Bool { isASCII && (isLetter || isNumber) }
}

/// Asks a service that gives credentials, within limits of time and size.
struct MetadataEndpoint: Sendable {
    struct Answer: Sendable {
        let head: HTTPResponse
        let data: Data

        /// The first line, if it can be a token or the name of a role; nil for a page of HTML.
        var word: String? {
            let line = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).first
            return line.flatMap { line in
                line.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "<") } ? String(line) : nil
            }
        }
    }

    private static let sizeLimit = 64 << 10

    /// The name of the service, for the start of a sentence.
    let name: String
    let connection: any Connection
    let clock: any DatedClock
    let limit: Duration

    /// Sends a request.
    ///
    /// - Throws: ``SigningError`` for a connection that must not see credentials, ``AWSCredentialError`` at the limits, and the
    ///   errors of the connection.
    func send(_ original: consuming Request) async throws -> Answer {
        try checkConnection()
        let instant = clock.instant(after: limit)
        var request = original
        request.options.deadline = instant
        request.options.bodyDeadline = instant
        request.options.skipsAuthentication = true
        let answer: Answer?
        do {
            answer = try await TimeLimitWatch(clock: clock).leavableValue(until: instant) { [connection, request] in
                let response = try await connection.send(request)
                return Answer(head: response.head, data: try await response.body.data(upTo: Self.sizeLimit))
            }
        } catch is BodyLimitError {
            throw unusable
        } catch let error as TransportError where error.code == .deadlineExceeded {
            throw late
        }
        guard let answer else { throw late }
        return answer
    }

    /// The credentials in the answer to a request.
    func credentials(for request: consuming Request) async throws -> AWSCredentials {
        let answer = try await send(request)
        guard answer.head.status == .ok else { throw refusal(answer) }
        return try CredentialDocument(answer.data, from: name).credentials
    }

    /// Credentials must not be stored, recorded or sent elsewhere on the way.
    private func checkConnection() throws(SigningError) {
        let roles: Set<Layer.Role> = [.caching, .redirection]
        let layer = connection.layers.first { layer in
            // A double invents its answers, and a cassette has them from a file.
            let facts = layer.facts
            return roles.contains(layer.role) || facts.contains(.sharesResponses)
                || facts.contains(.answers) && !facts.contains(.inventsAnswers)
                || facts.contains(.records) && !facts.contains(.redacts)
        }
        guard let layer else { return }
        throw SigningError(
            .invalidConfiguration,
            "The connection for AWS credentials has the layer `\(layer.name)`. Give it a transport alone.")
    }

    private var late: AWSCredentialError {
        AWSCredentialError("\(name) did not answer in time. Try again, or set other AWS credentials.", mayPass: true)
    }

    /// The error for content of another server.
    var unusable: AWSCredentialError {
        AWSCredentialError(
            "\(name) has answered without usable credentials. Look at whether another server answers there.")
    }

    /// The error for a status.
    func refusal(_ answer: Answer) -> AWSCredentialError {
        let code = answer.head.status.code
        let reason = CredentialDocument.errorCode(in: answer.data).map { " (\($0))" } ?? ""
        return AWSCredentialError(
            "\(name) has answered with the status \(code)\(reason). Look at the role and its permissions.",
            mayPass: code == 429 || code >= 500)
    }

    /// The content of a file that holds a token.
    static func text(ofFile path: String, variable: String) throws(SigningError) -> String {
        let text = String(limitedContentOf: path, upTo: sizeLimit)?.trimmingCharacters(in: .whitespacesAndNewlines)
        guard let text, !text.isEmpty else {
            throw SigningError(
                .noCredentials,
                "The file of the \(variable) cannot be read, is empty or has more than 64 KiB. Look at its path.")
        }
        return text
    }

    /// A URI of the environment, if it leads to a place that may give or get credentials.
    static func checked(_ uri: String, variable: String, also hosts: Set<String> = []) throws(SigningError) -> String {
        guard let origin = try? Origin(uri), !uri.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "\\") })
        else {
            throw refusedURI(variable)
        }
        let allowed: Set<String> = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "[::1]", "localhost"]
        let isAllowed = origin.scheme == "https" || allowed.contains(origin.host) || hosts.contains(origin.host)
        guard isAllowed || isLoopback(origin.host) else { throw refusedURI(variable) }
        return uri
    }

    static func refusedURI(_ variable: String) -> SigningError {
        SigningError(
            .invalidConfiguration,
            "The URI in \(variable) leads neither to this machine, nor to a metadata service of AWS, nor to https. "
                + "Correct it.")
    }

    private static func isLoopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

/// The credentials in the answer of a service or a program: JSON of metadata, or JSON or XML of the token service.
struct CredentialDocument: Sendable, SecretHolder {
    let credentials: AWSCredentials

    private static let names: Set<String> = [
        "AccessKeyId", "Code", "Expiration", "SecretAccessKey", "SessionToken", "Token", "Version",
    ]
    /// The objects that the token service puts around the credentials and around an error.
    private static let envelopes: Set<String> = [
        "AssumeRoleWithWebIdentityResponse", "AssumeRoleWithWebIdentityResult", "Credentials", "Error",
    ]

    /// Reads an answer.
    ///
    /// - Throws: ``AWSCredentialError`` for anything else, such as a page of HTML; it quotes nothing.
    init(_ data: Data, from source: String, isProcess: Bool = false) throws(AWSCredentialError) {
        guard let credentials = Self.credentials(in: Self.members(of: data, isProcess: isProcess), isProcess: isProcess)
        else {
            let code = Self.errorCode(in: data).map { " (\($0))" } ?? ""
            throw AWSCredentialError(
                "\(source) has answered without usable credentials\(code). "
                    + "Look at \(isProcess ? "what it writes" : "its role").")
        }
        self.credentials = credentials
    }

    /// A fixed text.
    var description: String { "credentials" }

    private static func credentials(in members: [String: String], isProcess: Bool) -> AWSCredentials? {
        guard let id = members["AccessKeyId"], let secret = members["SecretAccessKey"],
            members["Code"] ?? "Success" == "Success", !isProcess || members["Version"] == "1"
        else { return nil }
        let expiry = members["Expiration"].map(date)
        // A date that cannot be read must not stand for credentials without an end.
        if case .some(nil) = expiry { return nil }
        return try? AWSCredentials(
            accessKeyID: id, secretAccessKey: secret, sessionToken: members["Token"] ?? members["SessionToken"],
            expiry: expiry ?? nil)
    }

    /// The date of a member: a text of ISO 8601, or a number of seconds since 1970.
    private static func date(_ text: String) -> Date? {
        if let seconds = Double(text) { return seconds.isFinite ? Date(timeIntervalSince1970: seconds) : nil }
        let whole = try? Date.ISO8601FormatStyle().parse(text)
        return whole ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
    }

    private static func members(of data: Data, isProcess: Bool) -> [String: String] {
        var members: [String: String] = [:]
        var scanner = JSONScanner(Array(data))
        do {
            try read(&scanner, into: &members)
            try scanner.expectEnd()
            return members
        } catch {
            return isProcess ? [:] : elements(of: data)
        }
    }

    /// Reads an object, and those in it that are an envelope, which are no deeper than the set is large.
    private static func read(_ scanner: inout JSONScanner, into members: inout [String: String], depth: Int = 0) throws
    {
        try scanner.object { name, scanner in
            switch try scanner.peek() {
            case UInt8(ascii: "{") where envelopes.contains(name) && depth < envelopes.count:
                try read(&scanner, into: &members, depth: depth + 1)
            case UInt8(ascii: "\"") where names.contains(name): members[name] = try scanner.string()
            default:
                let range = try scanner.skipValue()
                let text = String(decoding: scanner.bytes[range], as: UTF8.self)
                if names.contains(name), Double(text) != nil { members[name] = text }
            }
        }
    }

    /// The elements of the token service, whose texts have no entities.
    private static func elements(of data: Data) -> [String: String] {
        let text = String(decoding: data, as: UTF8.self)[...]
        let part = element("Credentials", in: text) ?? element("Error", in: text)
        guard let part else { return [:] }
        return Dictionary(
            uniqueKeysWithValues: names.compactMap { name in element(name, in: part).map { (name, String($0)) } })
    }

    private static func element(_ name: String, in text: Substring) -> Substring? {
        guard let start = text.range(of: "<\(name)>"), let end = text[start.upperBound...].range(of: "</\(name)>")
        else { return nil }
        return text[start.upperBound..<end.lowerBound]
    }

    /// The code of an error of AWS, such as `ExpiredTokenException`, which is a word of letters and digits.
    static func errorCode(in data: Data) -> String? {
        let code = members(of: data, isProcess: false)["Code"]
        guard let code, code != "Success", (1...64).contains(code.utf8.count),
            code.allSatisfy({ $0.isASCIILetterOrDigit || $0 == "." })
        else { return nil }
        return code
    }
}
#endif
