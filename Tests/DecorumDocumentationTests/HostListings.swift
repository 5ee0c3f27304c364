import Decorum
import Foundation

private func hostPolicy() throws -> any Connection {
    let policy = try HostPolicy.httpsOnly
        .allowing("api.example.com", "*.cdn.example.com")
        .blocking("old.cdn.example.com")
    let connection = SystemConnection()
        .restrictingHosts(to: policy)
        .followingRedirects()
    return connection
}

private func restrictingHosts() throws -> any Connection {
    let connection = try SystemConnection()
        .restrictingHosts(to: .httpsOnly.allowing("api.example.com"))
        .followingRedirects()
    return connection
}

private func plainHTTP() throws -> HostPolicy {
    let policy = try HostPolicy.httpsOnly.allowingPlainHTTP(to: "localhost", "127.0.0.1", "[::1]")
    return policy
}

private func rewritingHosts() throws -> HostPolicy {
    let policy = try HostPolicy.httpsOnly
        .rewriting(Origin("https://api.example.com"), to: Origin("https://staging.example.com"))
    return policy
}

private func serverOnThisMachine() throws -> HostPolicy {
    let policy = try HostPolicy.httpsOnly
        .allowingPlainHTTP(to: "localhost", "127.0.0.1")
        .rewriting(Origin("https://api.example.com"), to: Origin("http://127.0.0.1:8080"))
    return policy
}

private func strictTransport(support: URL) -> any Connection {
    let hosts = StrictTransportHosts(file: PrivateFile(support.appending(path: "strict-hosts")))
    let connection = SystemConnection()
        .upgradingToHTTPS(remembering: hosts)
        .followingRedirects()
    return connection
}

private func strictTransportWithPreloadData(support: URL, preloadData: URL) throws -> any Connection {
    let hosts = try StrictTransportHosts(
        file: PrivateFile(support.appending(path: "strict-hosts")),
        preloading: String(contentsOf: preloadData, encoding: .utf8))
    let connection = try StandardStack(for: "https://api.example.com/").composed(adding: [
        .inside(of: .redirects) { $0.restrictingHosts(to: .httpsOnly) },
        .inside(of: .redirects) { $0.upgradingToHTTPS(remembering: hosts) },
    ])
    return connection
}
