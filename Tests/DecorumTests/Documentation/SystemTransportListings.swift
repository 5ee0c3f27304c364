import Decorum
import Foundation

private func systemConnection() {
    let connection = SystemConnection()
        .retrying()
    print(connection.layers)
}

#if os(Linux)
private func curlConnection() throws {
    var tls = CurlConnection.TLS()
    tls.roots = .file(URL(filePath: "/etc/company/roots.pem"))
    let connection = try CurlConnection(tls: tls)
        .retrying()
    print(connection.layers)
}
#endif
