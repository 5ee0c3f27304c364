import Foundation
import HTTPTypes
import Synchronization

/// How a body is stored while it is read for the first time.
struct BodyStoring: Sendable {
    /// The bytes that are stored before the body.
    var start: Body?
    let writer: any ResponseWriter
    /// The requests that were sent, of which more may be sent while the body is read.
    let sent: SentRequests
    /// Is called when the store does not take the body.
    var onFailure: @Sendable () async -> Void = {}
}

extension Body {
    /// Stores the body while it is read for the first time, and keeps it once the end was reached.
    ///
    /// - Parameter storing: The way to store it.
    /// - Returns: A body with the same content, length and replay rule.
    func stored(_ storing: BodyStoring) -> Body {
        let content = self
        let storing = FirstReading(storing)
        return Body(trustedLength: length, replay: replay) { offset in
            let reader = try await content.open(at: offset)
            guard offset == 0, let storing = storing.take() else { return reader }
            return StoringBodyReader(reader: reader, storing: storing)
        }
    }
}

/// Gives the writer to the first reader alone, who ends it when the reading ends early.
private final class FirstReading: Sendable {
    private let storing: Mutex<BodyStoring?>

    init(_ storing: BodyStoring) {
        self.storing = Mutex(storing)
    }

    func take() -> BodyStoring? {
        storing.withLock { $0.take() }
    }
}

private struct StoringBodyReader: BodyReader {
    var reader: any BodyReader
    /// Nil once the body is stored, or cannot be stored.
    var storing: BodyStoring?

    init(reader: any BodyReader, storing: BodyStoring) {
        self.reader = reader
        self.storing = storing
    }

    mutating func next() async throws -> Data? {
        let chunk = try await reader.next()
        await writeStart()
        if let chunk {
            await write(chunk)
        } else if let storing = storing.take(), storing.sent.allowsSharing {
            // A layer that resumes an interrupted body may have sent another request since the head arrived.
            if await !storing.writer.finish() { await storing.onFailure() }
        }
        return chunk
    }

    private mutating func write(_ chunk: Data) async {
        guard let storing, await !storing.writer.write(chunk) else { return }
        self.storing = nil
        await storing.onFailure()
    }

    private mutating func writeStart() async {
        guard let start = storing?.start.take() else { return }
        do {
            for try await chunk in start {
                guard storing != nil else { return }
                await write(chunk)
            }
        } catch {
            // The stored start is lost, and the rest alone is not a response.
            storing = nil
        }
    }

    var trailers: HTTPFields? { reader.trailers }
}
