public import Foundation
public import HTTPTypes
import Synchronization

/// What happens to a body while it is read.
public enum BodyEvent: Sendable {
    /// A chunk is about to reach the reader.
    case chunk(Data)
    /// The end was reached, with these trailer fields.
    case finished(trailers: HTTPFields?)
    /// Reading failed.
    case failed(any Error)
    /// The body was let go before its end.
    case abandoned
}

extension Body {
    /// Lets a closure watch the body being read, without reading it.
    ///
    /// Each reading ends in exactly one event that is not a chunk; so does a body that is dropped unread.
    ///
    /// - Parameter observer: Is called where the body is read, in order; it must not block.
    /// - Returns: A body with the same content, length and replay rule.
    public func observed(by observer: @escaping @Sendable (BodyEvent) -> Void) -> Body {
        let unread = UnreadBody(observer)
        return Body(trustedLength: length, replay: replay) { offset in
            unread.isRead.store(true, ordering: .relaxed)
            do {
                return ObservingBodyReader(try await open(at: offset), observer)
            } catch {
                observer(.failed(error))
                throw error
            }
        }
    }

    /// Keeps a copy of the body while it is read.
    ///
    /// - Parameters:
    ///   - limit: The largest number of bytes to keep.
    ///   - finish: Is called before the reader learns of the end, with the whole content and the trailer fields.
    ///     It is not called when the content has more than `limit` bytes, fails, or is let go before its end.
    /// - Returns: A body with the same content, length and replay rule.
    public func teed(
        upTo limit: Int,
        _ finish: @escaping @Sendable (_ content: Data, _ trailers: HTTPFields?) async -> Void
    ) -> Body {
        guard length ?? 0 <= limit else { return self }
        return Body(trustedLength: length, replay: replay) { offset in
            let reader = try await open(at: offset)
            return offset == 0 ? TeeBodyReader(reader: reader, limit: limit, finish: finish) : reader
        }
    }
}

private final class UnreadBody: Sendable {
    let isRead = Atomic(false)
    private let observer: @Sendable (BodyEvent) -> Void

    init(_ observer: @escaping @Sendable (BodyEvent) -> Void) {
        self.observer = observer
    }

    deinit {
        if !isRead.load(ordering: .relaxed) { observer(.abandoned) }
    }
}

private final class ObservingBodyReader: BodyReader {
    private var reader: any BodyReader
    private var observer: (@Sendable (BodyEvent) -> Void)?

    init(_ reader: any BodyReader, _ observer: @escaping @Sendable (BodyEvent) -> Void) {
        self.reader = reader
        self.observer = observer
    }

    deinit {
        observer?(.abandoned)
    }

    func next() async throws -> Data? {
        do {
            guard let chunk = try await reader.next() else {
                end(with: .finished(trailers: reader.trailers))
                return nil
            }
            observer?(.chunk(chunk))
            return chunk
        } catch {
            end(with: .failed(error))
            throw error
        }
    }

    private func end(with event: BodyEvent) {
        observer?(event)
        observer = nil
    }

    var trailers: HTTPFields? { reader.trailers }
}

private struct TeeBodyReader: BodyReader {
    var reader: any BodyReader
    let limit: Int
    var finish: (@Sendable (Data, HTTPFields?) async -> Void)?
    var content = Data()

    mutating func next() async throws -> Data? {
        guard let chunk = try await reader.next() else {
            await finish?(content, reader.trailers)
            finish = nil
            return nil
        }
        if content.count + chunk.count <= limit {
            content.append(chunk)
        } else {
            finish = nil
            content = Data()
        }
        return chunk
    }

    var trailers: HTTPFields? { reader.trailers }
}
