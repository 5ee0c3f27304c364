import Decorum
import HTTPTypes

// The values of reports as OpenTelemetry's semantic conventions for HTTP demand them.

extension HTTPRequest.Method {
    /// The methods that the conventions know: those of RFC 9110, PATCH (RFC 5789) and QUERY.
    static let known: Set<String> = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
    ]

    /// The method, or `_OTHER` for one that the conventions do not know.
    var conventionName: String { Self.known.contains(rawValue) ? rawValue : "_OTHER" }
}

extension String {
    /// A host as an address: that of IPv6 without its brackets.
    var withoutBrackets: String { hasPrefix("[") ? String(dropFirst().dropLast()) : self }
}

extension CallReport {
    /// The facts for logs and spans by the names of the conventions for spans of HTTP clients (version 1.44), or by one that begins
    /// with `decorum.` where they have none; nil for a fact that is not known.
    var conventionAttributes: [(name: String, value: (any CustomStringConvertible & Sendable)?)] {
        [
            ("http.request.method", method?.conventionName),
            ("http.request.method_original", method.flatMap { $0.conventionName == $0.rawValue ? nil : $0.rawValue }),
            ("url.full", url), ("url.template", routeName), ("server.address", origin?.host.withoutBrackets),
            ("server.port", origin?.port), ("http.response.status_code", statusCode), ("error.type", errorType),
            // The convention counts the attempts before it.
            ("http.request.resend_count", attempt.flatMap { $0 > 1 ? $0 - 1 : nil }),
            ("http.request.body.size", requestSize), ("http.response.body.size", responseSize),
            ("network.protocol.version", timings?.protocolVersion?.protocolNumber),
            ("network.peer.address", timings?.remoteAddress),
            ("decorum.call.id", callID.map { $0.hexadecimal() }), ("decorum.outcome", outcome.name),
            ("decorum.source", source?.description), ("decorum.cache.result", cache?.result),
        ]
    }

    /// The name of the error, or the status from 400 on; nil for a success and a cancellation.
    var errorType: String? {
        if outcome == .cancelled { return nil }
        if let statusCode, statusCode >= 400 { return String(statusCode) }
        guard case .failed(let name) = outcome else { return nil }
        return name
    }

    /// The bytes of the request's body; nil if there are none.
    var requestSize: Int64? { bytesSent > 0 ? bytesSent : nil }

    /// The bytes of the response's body, in its codings if that is known; nil without a response.
    var responseSize: Int64? { statusCode == nil ? nil : codedLength ?? bytesReceived }
}

extension CallReport.Cache {
    /// `hit`, the reason why the cache forwarded the request (RFC 9211, section 2.2), or `other`.
    var result: String { isHit ? "hit" : forwardReason ?? "other" }
}

extension String {
    /// A version of HTTP without its name, as in `1.1` or `2`.
    var protocolNumber: String { hasPrefix("HTTP/") ? String(dropFirst(5)) : self }
}
