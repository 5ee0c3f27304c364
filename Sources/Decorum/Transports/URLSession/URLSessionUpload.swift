import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The content of a request in a form that URLSession can send.
enum URLSessionUpload: Sendable {
    case none
    case data(Data)
    case large(URLSessionLargeUpload)

    /// Converts a body, away from the caller's actor; a stream must have been read until the deadline.
    @concurrent init(
        _ body: Body, until deadline: ContinuousClock.Instant?, on watch: TimeLimitWatch
    ) async throws {
        let upload: URLSessionUpload?
        do {
            upload =
                switch body.storage {
                case .bytes(let data): data.isEmpty ? Self.none : .data(data)
                case .file(let file): file.length == 0 ? Self.none : .large(try URLSessionLargeUpload(file))
                case .stream where body.isEmpty: Self.none
                case .stream:
                    try await watch.leavableValue(until: deadline) { try await URLSessionLargeUpload.upload(of: body) }
                }
        } catch let error as CancellationError {
            throw error
        } catch {
            throw TransportError(.unreadableBody, at: .connecting, underlying: error)
        }
        guard let upload else { throw TransportError(.deadlineExceeded, at: .connecting) }
        self = upload
    }

    /// The number of bytes; nil where it is not known.
    var length: Int64? {
        switch self {
        case .none: 0
        case .data(let data): Int64(data.count)
        case .large(let upload): upload.length
        }
    }

    /// Ends the reading of the content, since the exchange has ended.
    func close() {
        if case .large(let upload) = self { upload.close() }
    }

    /// Makes the task that sends the content; a failure to read it fails the exchange.
    func makeTask(
        with request: URLRequest, in session: URLSession, for exchange: URLSessionExchange
    ) -> URLSessionTask {
        switch self {
        case .none: session.dataTask(with: request)
        // Not as the request's `httpBody`, to which Linux adds a Content-Type.
        case .data(let data): session.uploadTask(with: request, from: data)
        case .large(let upload): upload.makeTask(with: request, in: session, for: exchange)
        }
    }
}
