#if !canImport(FoundationNetworking)
import Decorum
import Foundation

/// The turns in which a protocol calls its client: on the thread that has started it.
///
/// `@unchecked Sendable`, since the protocol is touched on its thread alone.
final class SessionTurns: NSObject, @unchecked Sendable {
    private weak var bridging: BridgingProtocol?
    private let thread = Thread.current

    init(for bridging: BridgingProtocol) {
        self.bridging = bridging
    }

    /// Asks for a turn.
    func request() {
        perform(
            #selector(take), on: thread, with: nil, waitUntilDone: false, modes: [RunLoop.Mode.common.rawValue])
    }

    @objc private func take() { bridging?.takeTurn() }

    /// Refuses nothing, since a session gives the content of uploads as a stream, and writes the files of downloads itself.
    static func refuseUnsupported(_ task: URLSessionTask?, _ request: URLRequest) throws(URLError) {}

    /// Always false: loading stops for good.
    static func isPaused(_ task: URLSessionTask?) -> Bool { false }

    /// Returns the response as it is.
    static func acceptable(_ response: Response) -> Response { response }
}
#endif
