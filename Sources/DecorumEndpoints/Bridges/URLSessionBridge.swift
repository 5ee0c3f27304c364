public import Decorum
import Synchronization

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Sends the requests of a `URLSession` through a connection, for an SDK that takes a `URLSessionConfiguration`.
///
/// ```swift
/// let bridge = URLSessionBridge(to: connection)
/// let client = MapClient(configuration: bridge.configuration())
/// ```
///
/// Keep the bridge as long as its sessions: without it, their new requests fail. All that a session does by itself is
/// turned off, since the layers of the connection do it: cookies, the cache, credentials and redirections. Timeouts of the
/// session may still end a request. Statuses are given to the SDK, which judges them itself. Errors are `URLError`s, whose
/// `NSUnderlyingErrorKey` is the error of the layer. Cancelling a task of the session cancels the exchange.
///
/// A session holds no server back: its chunks wait in its memory until they are read. Progress of uploads, metrics and
/// redirections are not reported to the delegate, and a session in the background cannot be bridged.
///
/// Each configuration has a `URLProtocol` of its own, which takes all its requests. An SDK that replaces `protocolClasses` cannot
/// be bridged. The few bytes of that class stay in memory, so make one configuration for each SDK, and not for each request.
///
/// ## On Linux
///
/// FoundationNetworking of Swift 6.3 gives protocols less than Apple's systems do:
///
/// - A task with a completion handler, and `data(for:)`, keep only the last chunk. So ``Delivery/whole(upTo:)`` is the
///   default there and everywhere; choose ``Delivery/chunks`` for a session with a delegate.
/// - The content of an upload task and the file of a download task cannot be reached, so both fail with `.unsupportedURL`.
///   Use data tasks with `httpBody` or `httpBodyStream`.
/// - A 401 has no `WWW-Authenticate`, with which the task would never end.
/// - Additional fields are sent only where they are in the configuration that ``configuration(basedOn:)`` gets, and not
///   those that an SDK adds to its result.
public final class URLSessionBridge: Sendable {
    /// The manner in which a task receives the content of a response.
    public enum Delivery: Sendable, Hashable {
        /// The content comes in one piece, once all of it has arrived, and a longer one is an error.
        case whole(upTo: Int)
        /// The content comes in chunks while it arrives.
        case chunks
    }

    private let connection: any Connection
    private let delivery: Delivery
    private let protocols = Mutex<[BridgingProtocol.Type]>([])

    /// Creates a bridge.
    ///
    /// - Parameters:
    ///   - connection: The connection that sends the requests.
    ///   - delivery: The manner in which a task receives content: in one piece of up to 16 MiB, unless you choose another.
    public init(to connection: some Connection, delivery: Delivery = .whole(upTo: 16 << 20)) {
        self.connection = connection
        self.delivery = delivery
    }

    deinit {
        for type in protocols.withLock({ $0 }) { BridgeRoute.end(at: type) }
    }

    /// Makes a configuration whose sessions send through the connection.
    ///
    /// - Parameter base: A configuration to copy, for settings of the SDK's such as additional fields.
    /// - Returns: A new configuration.
    public func configuration(basedOn base: URLSessionConfiguration = .ephemeral) -> URLSessionConfiguration {
        let configuration = base.copy() as? URLSessionConfiguration ?? .ephemeral
        var fields: [String: String] = [:]
        for (name, value) in configuration.httpAdditionalHeaders ?? [:] { fields["\(name)"] = "\(value)" }
        let type = BridgeRoute.begin(BridgeRoute(connection: connection, delivery: delivery, fields: fields))
        protocols.withLock { $0.append(type) }
        configuration.protocolClasses = [type]
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        return configuration
    }
}
