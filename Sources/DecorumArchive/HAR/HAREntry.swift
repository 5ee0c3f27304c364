public import Foundation

extension HAR {
    /// One exchange.
    public struct Entry: Sendable, Hashable {
        /// When it began; nil where the archive does not say.
        public var startedAt: Date?
        /// The milliseconds that it took; -1 where nobody knows.
        public var time: Double
        /// What was asked.
        public var request: Request
        /// What was answered; its status is 0 or less where the exchange failed.
        public var response: Response
        /// The milliseconds that each part took.
        public var timings: Timings
        /// The page that it belongs to.
        public var pageref: String?
        /// The address of the server.
        public var serverIPAddress: String?
        /// The name of the connection, such as its port.
        public var connection: String?
        /// A remark.
        public var comment: String?
        /// The facts about caches, as they are written.
        public var cache: JSONValue = .object([])
        /// The members that the format does not name, in their order; by convention their names start with an underscore.
        public var custom: [JSONValue.Member] = []

        /// Creates an exchange.
        ///
        /// - Parameters:
        ///   - request: What was asked.
        ///   - response: What was answered.
        ///   - startedAt: When it began.
        ///   - timings: The milliseconds that each part took.
        public init(request: Request, response: Response, startedAt: Date? = nil, timings: Timings = Timings()) {
            self.request = request
            self.response = response
            self.startedAt = startedAt
            self.timings = timings
            time = timings.total
        }
    }

    /// The milliseconds that the parts of an exchange took, or -1 for a part that does not apply.
    public struct Timings: Sendable, Hashable {
        /// Waiting for a connection.
        public var blocked: Double
        /// Finding the host's address.
        public var dns: Double
        /// Connecting, with the time for TLS.
        public var connect: Double
        /// Sending the request.
        public var send: Double
        /// Waiting for the response.
        public var wait: Double
        /// Reading the response.
        public var receive: Double
        /// Agreeing on TLS, which is a part of connecting.
        public var ssl: Double

        /// Creates the times of an exchange.
        ///
        /// - Parameters:
        ///   - blocked: Waiting for a connection.
        ///   - dns: Finding the host's address.
        ///   - connect: Connecting, with the time for TLS.
        ///   - send: Sending the request.
        ///   - wait: Waiting for the response.
        ///   - receive: Reading the response.
        ///   - ssl: Agreeing on TLS.
        public init(
            blocked: Double = -1, dns: Double = -1, connect: Double = -1, send: Double = 0, wait: Double = 0,
            receive: Double = 0, ssl: Double = -1
        ) {
            self.blocked = blocked
            self.dns = dns
            self.connect = connect
            self.send = send
            self.wait = wait
            self.receive = receive
            self.ssl = ssl
        }

        /// The sum of the parts that apply; TLS is within connecting.
        public var total: Double {
            [blocked, dns, connect, send, wait, receive].filter { $0 > 0 }.reduce(0, +)
        }
    }
}
