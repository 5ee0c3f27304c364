/// The requests to which an option goes on from the request on which it was set.
///
/// An option that describes the wish of one caller, such as ``RequestOptions/deadline``, must not decide about a request
/// that other callers wait for. An option that says on whose behalf a request is made, such as
/// ``RequestOptions/principal``, goes on to each of them.
///
/// ```swift
/// enum TraceKey: RequestOptionKey {
///     static let defaultValue: String? = nil
///     static let travels: OptionTravel = [.redirections, .attempts]
/// }
/// ```
public struct OptionTravel: OptionSet, Sendable, Hashable {
    /// One bit for each kind of request.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    ///
    /// - Parameter rawValue: One bit for each kind of request.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A request to which a server redirects.
    public static let redirections = OptionTravel(rawValue: 1)
    /// Another attempt of the same request.
    public static let attempts = OptionTravel(rawValue: 2)
    /// A request that is sent for several callers, as `coalescing` and a cache do it.
    public static let sharedRequests = OptionTravel(rawValue: 4)
    /// A request for which no caller waits, such as a validation in the background.
    public static let backgroundRequests = OptionTravel(rawValue: 8)
    /// Only requests with equal values of the option share a response; the shared request has the option too.
    ///
    /// An option that decides how a request is sent has this in addition to the kinds of requests to which it goes on. Its
    /// type has to be `Equatable`; requests with values that cannot be compared share nothing.
    public static let comparedWhenShared = OptionTravel(rawValue: 16)

    /// Every request that comes from the first one.
    public static let all: OptionTravel = [.redirections, .attempts, .sharedRequests, .backgroundRequests]
    /// The requests that belong to the same call.
    public static let call: OptionTravel = [.redirections, .attempts]
}
