public import Decorum
public import HTTPTypes

/// A challenge of a server: a scheme of authentication, and its parameters.
///
/// ```swift
/// for challenge in response.challenges where challenge.scheme == "bearer" {
///     print(challenge["error"] ?? "no error")
/// }
/// ```
///
/// See RFC 9110, section 11.6.1.
public struct Challenge: Sendable, Hashable {
    /// A parameter of a challenge.
    public struct Parameter: Sendable, Hashable {
        /// The name, in lower case.
        public let name: String
        /// The value, without quotation marks and backslashes.
        public let value: String

        /// Creates a parameter.
        ///
        /// - Parameters:
        ///   - name: The name, in any letter case.
        ///   - value: The value.
        public init(_ name: String, _ value: String) {
            self.name = name.lowercased()
            self.value = value
        }
    }

    /// The scheme, in lower case, as in `bearer`.
    public let scheme: String
    /// The single value of schemes such as `Negotiate`; nil where the challenge has parameters or nothing.
    public let token68: String?
    /// The parameters, in order.
    public let parameters: [Parameter]

    /// Creates a challenge.
    ///
    /// - Parameters:
    ///   - scheme: The scheme, in any letter case.
    ///   - token68: The single value.
    ///   - parameters: The parameters.
    public init(scheme: String, token68: String? = nil, parameters: [Parameter] = []) {
        self.scheme = scheme.lowercased()
        self.token68 = token68
        self.parameters = parameters
    }

    /// The value of a parameter; nil where it is not there, or is there more than once, which RFC 9110 forbids.
    ///
    /// - Parameter name: The name, in lower case.
    public subscript(_ name: String) -> String? {
        let values = parameters.filter { $0.name == name }
        return values.count == 1 ? values.first?.value : nil
    }

    /// The realm: the part of the server that the challenge is for.
    public var realm: String? { self["realm"] }
}

extension HTTPFields {
    /// The challenges of the fields `WWW-Authenticate`, in order.
    ///
    /// A field is read up to its first mistake. No more than 64 KiB and 64 challenges are read.
    public var challenges: [Challenge] {
        var challenges: [Challenge] = []
        var bytes = 0
        for value in self[values: .wwwAuthenticate] {
            bytes += value.utf8.count
            guard bytes <= ChallengeParser.byteLimit else { break }
            challenges += Challenge.parse(value)
        }
        return Array(challenges.prefix(ChallengeParser.challengeLimit))
    }
}

extension Challenge {
    /// Reads the challenges of one field value.
    ///
    /// - Parameter value: The value of `WWW-Authenticate` or `Proxy-Authenticate`.
    /// - Returns: The challenges up to the first mistake; a challenge with a mistake is left out. No more than 64 KiB and
    ///   64 challenges of at most 64 parameters are read.
    public static func parse(_ value: String) -> [Challenge] {
        var parser = ChallengeParser(value)
        return parser.challenges()
    }
}

extension Response {
    /// The challenges of the response, in order.
    public var challenges: [Challenge] { head.headerFields.challenges }
}
