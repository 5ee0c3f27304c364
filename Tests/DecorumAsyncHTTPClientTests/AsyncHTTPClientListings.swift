#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import NIOSSL

private func asyncHTTPClientConnection(tls: TLSConfiguration) -> [AsyncHTTPClientConnection] {
    let connection = AsyncHTTPClientConnection()

    var configuration = AsyncHTTPClientConnection.configuration()
    configuration.tlsConfiguration = tls
    let own = AsyncHTTPClientConnection(configuration: configuration)
    return [connection, own]
}
#endif
