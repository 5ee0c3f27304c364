/// The networks that a request may use, and the purpose of its traffic, as far as its caller has a wish.
struct NetworkAccess: Sendable, Equatable {
    var cellular: Bool?
    var expensive: Bool?
    var constrained: Bool?
    var serviceType: NetworkServiceType?
}

/// The purpose of a request's traffic, by which Apple's systems schedule it.
public struct NetworkServiceType: Sendable, Hashable, CustomStringConvertible {
    /// The name of the type.
    public let description: String
    let number: UInt

    private init(_ description: String, _ number: UInt) {
        self.description = description
        self.number = number
    }

    /// Standard traffic.
    public static let `default` = NetworkServiceType("default", 0)
    /// Video.
    public static let video = NetworkServiceType("video", 2)
    /// Traffic that no user waits for.
    public static let background = NetworkServiceType("background", 3)
    /// Voice.
    public static let voice = NetworkServiceType("voice", 4)
    /// Data that a user waits for.
    public static let responsiveData = NetworkServiceType("responsiveData", 6)
    /// Audio and video that are played while they arrive.
    public static let avStreaming = NetworkServiceType("avStreaming", 8)
    /// Audio and video that must not be late.
    public static let responsiveAV = NetworkServiceType("responsiveAV", 9)
    /// The signals of a call.
    public static let callSignaling = NetworkServiceType("callSignaling", 11)
}

/// Wishes that only ``URLSessionConnection`` on Apple's systems heeds; they do nothing on Linux and with other transports.
extension RequestOptions {
    /// Whether the request may use a cellular network, on Apple's systems; nil means the setting of the session.
    ///
    /// With `false`, the request fails with ``TransportError/Code/unreachable`` where there is no other network. `true`
    /// does not allow what the session's configuration forbids. The wish holds for each request that comes from this
    /// one, such as a redirection or a validation in the background, and callers share a request only with the same wish.
    /// All this holds for each of these four options. Other transports, and URLSession on Linux, do not heed them.
    public var allowsCellularAccess: Bool? {
        get { networkAccess.cellular }
        set { networkAccess.cellular = newValue }
    }

    /// Whether the request may use a network that the system counts as expensive, such as a personal hotspot.
    ///
    /// It is for Apple's systems alone, as ``allowsCellularAccess`` says.
    public var allowsExpensiveNetworkAccess: Bool? {
        get { networkAccess.expensive }
        set { networkAccess.expensive = newValue }
    }

    /// Whether the request may use a network for which the user has chosen Low Data Mode.
    ///
    /// It is for Apple's systems alone, as ``allowsCellularAccess`` says.
    public var allowsConstrainedNetworkAccess: Bool? {
        get { networkAccess.constrained }
        set { networkAccess.constrained = newValue }
    }

    /// The purpose of the traffic of the request; nil means the setting of the session.
    ///
    /// It is for Apple's systems alone, as ``allowsCellularAccess`` says.
    public var networkServiceType: NetworkServiceType? {
        get { networkAccess.serviceType }
        set { networkAccess.serviceType = newValue }
    }

    var networkAccess: NetworkAccess {
        get { self[NetworkAccessKey.self] }
        set { self[NetworkAccessKey.self] = newValue }
    }
}

private enum NetworkAccessKey: RequestOptionKey {
    static let defaultValue = NetworkAccess()
    // A caller who forbids a network must not get the response over it, whoever sends the request.
    static let travels: OptionTravel = [.all, .comparedWhenShared]
}
