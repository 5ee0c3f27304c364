#if os(Linux)
import DecorumCurl
import HTTPTypes

/// The head of a request in the form that libcurl takes.
struct CurlRequestHead: Sendable {
    let method: String
    let url: String
    /// The server, by which connections are counted.
    let host: CurlHost
    /// The target, where it is not the path of the URL.
    let target: String?
    let fields: CurlList
    /// The options of the proxy, where it depends on the request.
    let proxy: [CurlOptions.Option]
    /// The URL of the proxy of all requests, and the hosts that it is not for; nil for none.
    let commonProxy: (url: String, exceptions: [String])?
    let routeName: String?

    /// Converts the head of a request, which was validated.
    init(
        _ request: borrowing Request, _ library: CurlLibrary, through proxy: [CurlOptions.Option] = [],
        or commonProxy: (url: String, exceptions: [String])? = nil
    ) throws(InvalidRequestError) {
        self.proxy = proxy
        self.commonProxy = commonProxy
        routeName = request.options.routeName
        let head = request.head
        let path = head.path ?? "/"
        guard !path.utf8.contains(UInt8(ascii: "#")) else { throw .invalidURL }
        guard request.body.isEmpty || head.method != .head else {
            throw InvalidRequestError(.invalidBody, "libcurl cannot send content with HEAD; use another method.")
        }
        method = head.method.rawValue
        // RFC 9112, section 3.2.4.
        target = path == "*" ? path : nil
        let isSecure = head.scheme == "https" || head.scheme?.lowercased() == "https"
        host = CurlHost(isSecure: isSecure, authority: head.authority ?? "")
        url = "\(head.scheme ?? "")://\(head.authority ?? "")\(path == "*" ? "/" : path)"
        fields = CurlList(library)
        append(head.headerFields, announcing: Self.announcement(of: request.body, head.method))
    }

    var isSecure: Bool { host.isSecure }

    /// The proxy that the request is to be sent through; nil for none.
    var proxyAddress: CurlProxyAddress? {
        for case .text(DECORUM_CURL_OPTION_PROXY, let url) in proxy where !url.isEmpty { return CurlProxyAddress(url) }
        guard proxy.isEmpty, let commonProxy, let origin = try? Origin(Target(url)),
            !ProxyExceptions(commonProxy.exceptions.joined(separator: ",")).contains(origin)
        else { return nil }
        return CurlProxyAddress(commonProxy.url)
    }

    // Longer ones make the array grow.
    private static let usualLineSize = 128

    private func append(_ headerFields: HTTPFields, announcing announcement: HTTPField?) {
        var announcement = announcement
        var acceptsNothing = true
        var expectsNothing = true
        var line: [UInt8] = []
        line.reserveCapacity(Self.usualLineSize)
        for field in headerFields {
            // The length of a name is compared first: most fields have another one.
            let nameLength = field.name.rawName.utf8.count
            if nameLength == 14 || nameLength == 17, field.name == .contentLength || field.name == .transferEncoding {
                // A length or coding that contradicts the content would allow request smuggling (RFC 9112, section 6.3).
                if let announcement { fields.append(announcement) }
                announcement = nil
                continue
            }
            if nameLength == 6 {
                acceptsNothing = acceptsNothing && field.name != .accept
                expectsNothing = expectsNothing && field.name != .expect
            }
            fields.append(field, using: &line)
        }
        if let announcement { fields.append(announcement) }
        // For a name without a value, libcurl does not add its default field.
        if acceptsNothing { fields.append("Accept:") }
        if expectsNothing { fields.append("Expect:") }
    }

    /// The field that announces the length of the content (RFC 9110, section 8.6).
    private static func announcement(of body: Body, _ method: HTTPRequest.Method) -> HTTPField? {
        guard let length = body.length else { return HTTPField(name: .transferEncoding, value: "chunked") }
        guard length > 0 || !methodsWithoutContent.contains(method) else { return nil }
        return HTTPField(name: .contentLength, value: String(length))
    }

    private static let methodsWithoutContent: [HTTPRequest.Method] = [.get, .head, .delete, .options, .trace, .connect]
}
#endif
