#if CommandLine
import ArgumentParser
import Decorum
import Foundation

/// The options for the transport: HTTP versions, proxies, TLS, and addresses.
struct TransportOptions: ParsableArguments {
    @Option(help: "The transport, in place of that of the system.") var transport: Choice?
    @Option(help: "Use only this version of HTTP: 1.1 or 2; on Linux.") var httpVersion: String?
    @Option(help: "Send through the proxy with this URL; none for no proxy; on Linux.") var proxy: String?
    @Option(help: "The user of the proxy.") var proxyUser: String?
    @Option(help: "The password of that user: @FILE, env:NAME or prompt.") var proxyPassword: SecretSource?
    @Option(help: "Reach hosts without the proxy, as in example.com,localhost.") var noproxy: String?
    @Option(help: "Trust only the certificates of a file in PEM.", completion: .file()) var cacert: String?
    @Option(help: "Show a client certificate, of a file in PEM or PKCS#12.", completion: .file()) var cert: String?
    @Option(help: "The file with the key of the client certificate, in PEM.", completion: .file()) var key: String?
    @Option(help: "The password of the key: @FILE, env:NAME or prompt.") var keyPassword: SecretSource?
    @Option(help: "Accept only servers whose public key has this SHA-256, in base64.") var pin: [String] = []
    @Option(help: "The lowest version of TLS: 1.2 or 1.3.") var tlsMin = "1.2"
    @Option(help: "Connect to an address for a host: host:port:address; on Linux.") var resolve: [String] = []
    @Option(help: "Send all requests to a Unix socket, on Linux.", completion: .file()) var unixSocket: String?
    @Option(help: "Write the server's certificates to a folder.", completion: .directory) var certificates: String?

    enum Choice: String, ExpressibleByArgument, CaseIterable, Sendable { case curl, urlsession }

    /// Whether an option is set that only libcurl has; each transport has TLS.
    private var needsCurl: Bool {
        !resolve.isEmpty || [httpVersion, proxy, proxyUser, noproxy, unixSocket].contains { $0 != nil }
    }

    #if os(Linux)
    /// The transport, with room for a number of requests to one host at the same time.
    func makeTransport(connections: Int, clock: any DatedClock, console: Console) throws -> any ClosableConnection {
        let tls = try tls(console: console)
        guard transport != .urlsession else {
            let needsTLS = [cacert, cert, certificates].contains { $0 != nil } || !pin.isEmpty || tlsMin != "1.2"
            guard !needsCurl, !needsTLS else {
                throw CommandFailure(.unavailable, "URLSession has no such options on Linux. Leave out --transport.")
            }
            return URLSessionConnection(connectionsPerHost: connections, clock: clock)
        }
        guard let protocols = [nil: CurlConnection.Protocols.negotiated, "1.1": .http1, "2": .http2][httpVersion] else {
            throw CommandFailure(.usage, "The versions of HTTP are 1.1 and 2.")
        }
        let url = proxy == "none" ? nil : proxy
        guard proxyUser == nil || url != nil, proxyPassword == nil || proxyUser != nil else {
            throw CommandFailure(.usage, "A password of a proxy needs its user, and that needs its URL in --proxy.")
        }
        // With an option for the proxy, the proxies of the environment do not count, but its certificates do.
        var variables = ProcessInfo.processInfo.environment.filter { proxy == nil || $0.key.hasPrefix("SSL_CERT_") }
        if let noproxy { variables["no_proxy"] = noproxy }
        let password = try proxyPassword?.secret(for: "password of the proxy", console: console)
        let routes = try resolve.map { text in
            // A host, a port and addresses, as in `example.com:443:127.0.0.1,[::1]`.
            let parts = text.split(separator: ":", maxSplits: 2).map(String.init)
            guard parts.count == 3, let port = Int(parts[1]) else {
                throw CommandFailure(.usage, "“\(text.shortened)” is no address of a host. Write host:port:address.")
            }
            let addresses = parts[2].split(separator: ",").map(String.init)
            return try CurlConnection.Route(host: parts[0], port: port, addresses: addresses)
        }
        return try CurlConnection(
            environment: .init(variables), protocols: protocols,
            pool: .init(connectionsPerHost: max(64, connections)), tls: tls,
            proxy: url.map { try .init($0, user: proxyUser, password: password, exceptions: [noproxy ?? ""]) },
            unixSocket: unixSocket, routes: routes, clock: clock)
    }
    #else
    /// The transport, with room for a number of requests to one host at the same time.
    func makeTransport(connections: Int, clock: any DatedClock, console: Console) throws -> any ClosableConnection {
        guard transport != .curl, !needsCurl else {
            throw CommandFailure(.unavailable, "Proxies, HTTP versions, addresses and Unix sockets need Linux.")
        }
        return try SystemConnection(tls: tls(console: console), connectionsPerHost: connections, clock: clock)
    }
    #endif

    /// The options of TLS.
    func tls(console: Console) throws -> TLSOptions {
        var tls = TLSOptions()
        if let cacert { tls.roots = .file(try InputFile.url(cacert)) }
        guard cert != nil || key == nil && keyPassword == nil else {
            throw CommandFailure(.usage, "A key needs its certificate, --cert.")
        }
        if let cert {
            let password = try keyPassword?.secret(for: "password of the key", console: console)
            let isPKCS12 = key == nil && [".p12", ".pfx"].contains { cert.lowercased().hasSuffix($0) }
            tls.identity =
                isPKCS12
                ? .pkcs12(try InputFile.data(cert), password: password ?? "")
                : .files(certificate: try InputFile.url(cert), key: try InputFile.url(key ?? cert), password: password)
        }
        for pin in pin {
            guard let digest = Data(base64Encoded: String(pin.trimmingPrefix("sha256//"))), digest.count == 32 else {
                throw CommandFailure(.usage, "A pin is the SHA-256 of a public key in base64, as in sha256//….")
            }
            tls.pinnedKeys.append(digest)
        }
        guard let version = ["1.2": TLSOptions.Version.tls12, "1.3": .tls13][tlsMin] else {
            throw CommandFailure(.usage, "The versions of TLS are 1.2 and 1.3.")
        }
        tls.minimumVersion = version
        tls.reportsCertificates = certificates != nil
        return tls
    }
}
#endif
