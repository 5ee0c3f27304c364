public import Foundation
public import HTTPTypes
import Synchronization

/// An event of a body while it is read.
public enum BodyEvent: Sendable {
    /// A chunk is about to be given to the reader.
    case chunk(Data)
    /// The end was reached, with these trailer fields.
    case finished(trailers: HTTPFields?)
    /// Reading failed.
    case failed(any Error)
    /// The body was dropped before its end.
    case abandoned
}

extension Body {
    /// Reports the reading of the body to a closure; this reads nothing by itself.
    ///
    /// Each reading ends with exactly one event that is not a chunk; dropping an unread body also causes exactly one. The
    /// closure gets the events in order, on the executor of the reader; it must not block.
    public func observed(by observer: @escaping @Sendable (BodyEvent) -> Void) -> Body {
        observed(by: ClosureBodyObserver(closure: observer))
    }

    func observed(by observer: any BodyObserver) -> Body {
        Body(.stream(BodyStream(self, observedBy: observer))).typed(like: self)
    }

    /// Keeps a copy of the body while it is read, of at most a number of bytes.
    ///
    /// `finish` is called before the reader gets the end, with the whole content and the trailer fields. It is not called
    /// when the content has more than `limit` bytes, fails, or is dropped before its end.
    public func teed(
        upTo limit: Int,
        _ finish: @escaping @Sendable (_ content: Data, _ trailers: HTTPFields?) async -> Void
    ) -> Body {
        guard length ?? 0 <= limit else { return self }
        return Body(trustedLength: length, replay: replay) { offset in
            let reader = try await open(at: offset)
            return offset == 0 ? TeeBodyReader(reader: reader, limit: limit, finish: finish) : reader
        }.typed(like: self)
    }
}

/// Gets the events of a body.
protocol BodyObserver: Sendable {
    func note(_ event: BodyEvent)
}

private struct ClosureBodyObserver: BodyObserver {
    let closure: @Sendable (BodyEvent) -> Void

    func note(_ event: BodyEvent) { closure(event) }
}

/// The observation of a body; it also reports when the body is dropped unread.
final class BodyObservation: Sendable {
    fileprivate let observer: any BodyObserver
    fileprivate let isRead = Atomic(false)

    init(_ observer: any BodyObserver) {
        self.observer = observer
    }

    deinit {
        if !isRead.load(ordering: .relaxed) { observer.note(.abandoned) }
    }
}

extension [BodyObservation] {
    /// Opens a body for a reader that all of these observe; the first is the nearest to the body.
    func open(_ body: Body, at offset: Int64) async throws -> any BodyReader {
        for observation in self { observation.isRead.store(true, ordering: .relaxed) }
        do {
            return ObservingBodyReader(try await body.open(at: offset), self)
        } catch {
            note(.failed(error))
            throw error
        }
    }

    fileprivate func note(_ event: BodyEvent) {
        for observation in self { observation.observer.note(event) }
    }
}

private final class ObservingBodyReader: BodyReader {
    private var reader: any BodyReader
    private var observations: [BodyObservation]

    init(_ reader: any BodyReader, _ observations: [BodyObservation]) {
        self.reader = reader
        self.observations = observations
    }

    deinit {
        observations.note(.abandoned)
    }

    func next() async throws -> Data? {
        do {
            guard let chunk = try await reader.next() else {
                end(with: .finished(trailers: reader.trailers))
                return nil
            }
            observations.note(.chunk(chunk))
            return chunk
        } catch {
            end(with: .failed(error))
            throw error
        }
    }

    private func end(with event: BodyEvent) {
        observations.note(event)
        observations = []
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

extension BodyEvent: SecretHolder {
    /// The event without content, trailer fields and the words of an error.
    public var description: String {
        switch self {
        case .chunk(let chunk): "chunk of \(chunk.count) bytes"
        case .finished(let trailers): "finished" + (trailers.map { ", \($0.count) trailer fields" } ?? "")
        case .failed(let error): "failed: \(Redaction.name(of: error))"
        case .abandoned: "abandoned"
        }
    }
}
