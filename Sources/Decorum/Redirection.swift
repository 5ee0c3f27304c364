public import Foundation
public import HTTPTypes

/// One step from a URL to the next, as a server asks for it.
///
/// Its description shows the status and the two origins; paths and queries may hold secrets.
public struct Redirection: Sendable, Hashable, SecretHolder {
    /// The status of the response that redirects.
    public let status: HTTPResponse.Status
    /// The method of the request to the new URL.
    public let method: HTTPRequest.Method
    /// The URL that redirects, with its fragment.
    public let from: URL
    /// The new URL, with its own fragment or the inherited one.
    public let to: URL

    /// Creates a redirection.
    ///
    /// - Parameters:
    ///   - status: The status of the response that redirects.
    ///   - method: The method of the request to the new URL.
    ///   - from: The URL that redirects.
    ///   - to: The new URL.
    public init(status: HTTPResponse.Status, method: HTTPRequest.Method, from: URL, to: URL) {
        (self.status, self.method, self.from, self.to) = (status, method, from, to)
    }

    /// Whether the two URLs differ in scheme, host or port.
    public var crossesOrigins: Bool {
        guard let source = try? Origin(from), let target = try? Origin(to) else {
            return true
        }
        return source != target
    }

    /// The status and the two origins, as in `301 https://a.example → https://b.example`.
    public var description: String {
        "\(status.code) \(Self.origin(of: from)) → \(Self.origin(of: to))"
    }

    private static func origin(of url: URL) -> String {
        (try? Origin(url))?.description ?? "?"
    }
}

/// Why a redirection was not followed, as an open set.
public struct RedirectionRefusal: Sendable, Hashable, CustomStringConvertible {
    /// The name of the reason, suitable for a metric.
    public let description: String

    package init(_ description: String) {
        self.description = description
    }

    /// The response has no `Location`, or an empty one.
    public static let missingLocation = RedirectionRefusal("missingLocation")
    /// The `Location` is not a URL that can be requested, has more than 64 KiB, or there are several.
    public static let invalidLocation = RedirectionRefusal("invalidLocation")
    /// The `Location` is neither `http` nor `https`.
    public static let unsupportedScheme = RedirectionRefusal("unsupportedScheme")
    /// The `Location` holds a user name or password.
    public static let userinfo = RedirectionRefusal("userinfo")
    /// The redirection leads from `https` to `http`.
    public static let downgrade = RedirectionRefusal("downgrade")
    /// The body would have to be sent again but can be read only once.
    public static let bodyReadOnce = RedirectionRefusal("bodyReadOnce")
    /// The body would be sent to another origin; ``RedirectionPolicy/allowingBodiesAcrossOrigins()`` permits it.
    public static let bodyAcrossOrigins = RedirectionRefusal("bodyAcrossOrigins")
    /// The layer follows no redirections: its limit is 0.
    public static let limit = RedirectionRefusal("limit")
    /// The rule of the policy does not allow it.
    public static let policy = RedirectionRefusal("policy")
    /// The deadline of the request has passed.
    public static let deadline = RedirectionRefusal("deadline")
}

extension ResponseMetadata {
    /// The redirections that were followed to get the response, first one first.
    public var redirects: [Redirection] {
        get { self[RedirectsKey.self] }
        set { self[RedirectsKey.self] = newValue }
    }

    /// The reason why this redirection was not followed; nil when the response is not a redirection that was refused.
    public var redirectionRefusal: RedirectionRefusal? {
        get { self[RedirectionRefusalKey.self] }
        set { self[RedirectionRefusalKey.self] = newValue }
    }

    /// The number of the redirections that were remembered, so that no server was asked for them.
    var recalledRedirects: Int {
        get { self[RecalledRedirectsKey.self] }
        set { self[RecalledRedirectsKey.self] = newValue }
    }
}

private enum RecalledRedirectsKey: ResponseMetadataKey { static let defaultValue = 0 }
private enum RedirectsKey: ResponseMetadataKey { static let defaultValue: [Redirection] = [] }
private enum RedirectionRefusalKey: ResponseMetadataKey { static let defaultValue: RedirectionRefusal? = nil }
