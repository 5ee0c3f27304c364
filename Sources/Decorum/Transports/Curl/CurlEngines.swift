#if os(Linux)
import Foundation

/// The engines of a connection: the main one, and one for requests that avoid HTTP/2, which starts with the first of them.
///
/// Each has its own connections. On common ones, an HTTP/1.1 connection would make libcurl open further HTTP/2 connections
/// to its host, and some versions of libcurl send a request that asks for HTTP/1.1 over an HTTP/2 connection.
final class CurlEngines: Sendable {
    let main: CurlEngine
    /// Counts the exchanges of all engines.
    let transfers = OpenTransfers()
    private let library: CurlLibrary
    private let options: CurlOptions
    private let second = Locked<CurlEngine?>(nil)

    init(_ library: CurlLibrary, _ options: CurlOptions) throws(CurlUnavailableError) {
        guard let main = Self.start(library, options, counting: transfers) else { throw .unusable(library.version) }
        self.main = main
        self.library = library
        self.options = options
    }

    /// The engine that avoids HTTP/2.
    var avoidingHTTP2: CurlEngine {
        get throws(TransportError) {
            let engine = second.withLock { second in
                if second == nil { second = Self.start(library, options.avoidingHTTP2, counting: transfers) }
                return second
            }
            guard let engine else { throw TransportError(.limitExceeded, at: .connecting) }
            return engine
        }
    }

    /// Starts an engine with its thread; nil where libcurl has no memory.
    private static func start(
        _ library: CurlLibrary, _ options: CurlOptions, counting transfers: OpenTransfers
    ) -> CurlEngine? {
        guard let multi = CurlMulti(library) else { return nil }
        let queue = CurlCommandQueue(multi)
        Thread.detachNewThread { CurlLoop(queue, options).run() }
        return CurlEngine(queue, counting: transfers)
    }

    /// Refuses new exchanges, and ends the threads with their idle connections once no exchange is running.
    func close() async {
        await transfers.close()
        guard transfers.isOver else { return }
        main.stop()
        second.withLock { $0 }?.stop()
    }
}
#endif
