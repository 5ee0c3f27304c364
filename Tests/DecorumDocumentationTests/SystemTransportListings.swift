import Decorum
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

private func systemConnection() throws {
    let connection = SystemConnection()
        .retrying()
    print(connection.layers)

    let strict = try SystemConnection(tls: TLSOptions())
    print(strict.layers)
}

private func sessionConfiguration() throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 2
    configuration.httpAdditionalHeaders = ["User-Agent": "App/1.0"]
    let connection = try URLSessionConnection(configuration: configuration)
    print(connection.layers)
}

#if !canImport(FoundationNetworking)
private func sessionOfApp() throws {
    let connection = try URLSessionConnection(session: .shared)
    print(connection.layers)
}
#endif

private func trusting(_ keys: [Data], showing file: Data, _ password: String) throws {
    var tls = TLSOptions()
    tls.roots = .file(URL(filePath: "/etc/company/roots.pem"))
    tls.pinnedKeys = keys  // SHA-256 of each public key, of which one has to fit
    tls.identity = .pkcs12(file, password: password)
    let connection = try SystemConnection(tls: tls)
        .retrying()
    print(connection.layers)
}

#if os(Linux)
private func curlConnection() throws {
    var tls = TLSOptions()
    tls.roots = .file(URL(filePath: "/etc/company/roots.pem"))
    let connection = try CurlConnection(tls: tls)
        .retrying()
    print(connection.layers)
}

private func curlEnvironment() throws {
    let environment = try CurlConnection.Environment()
    let connection = try CurlConnection(environment: environment)
    print(connection.layers)
}
#endif
