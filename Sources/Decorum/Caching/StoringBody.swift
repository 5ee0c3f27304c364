import Foundation
import HTTPTypes
import Synchronization

/// How a body is stored while it is read for the first time.
struct BodyStoring: Sendable {
    /// The bytes that are stored before the body.
    var start: Body?
    /// Opens the writer, once the body is read; if it returns nil, the body is not stored.
    let open: @Sendable () async -> (any ResponseWriter)?
    /// Finishes the writer when the body is complete, unless the response is outdated.
    let keep: @Sendable (_ writer: any ResponseWriter) async -> Void
    /// Is called when the store does not take the body.
    var giveUp: @Sendable () async -> Void = {}
}

extension Body {
    /// Stores the body while it is read for the first time, and keeps it once the end was reached.
    ///
    /// - Parameter storing: The way to store it.
    /// - Returns: A body with the same content, length and replay rule.
    func stored(_ storing: BodyStoring) -> Body {
        let content = self
        let turn = FirstTurn()
        return Body(trustedLength: length, replay: replay) { offset in
            let reader = try await content.open(at: offset)
            guard offset == 0, turn.take() else { return reader }
            return StoringBodyReader(reader: reader, storing: storing)
        }
    }
}

private final class FirstTurn: Sendable {
    private let isTaken = Atomic(false)

    func take() -> Bool {
        !isTaken.exchange(true, ordering: .relaxed)
    }
}

private struct StoringBodyReader: BodyReader {
    var reader: any BodyReader
    let storing: BodyStoring
    var isOpen = false
    var writer: (any ResponseWriter)?

    mutating func next() async throws -> Data? {
        let chunk = try await reader.next()
        if !isOpen { await open() }
        if let chunk {
            await write(chunk)
        } else if let writer {
            self.writer = nil
            await storing.keep(writer)
        }
        return chunk
    }

    private mutating func open() async {
        isOpen = true
        writer = await storing.open()
        if writer == nil { await storing.giveUp() }
        if let start = storing.start { await write(start) }
    }

    private mutating func write(_ chunk: Data) async {
        guard let writer, await !writer.write(chunk) else { return }
        self.writer = nil
        await storing.giveUp()
    }

    private mutating func write(_ start: Body) async {
        do {
            for try await chunk in start {
                guard writer != nil else { return }
                await write(chunk)
            }
        } catch {
            // The stored start is lost, and the rest alone is not a response.
            writer = nil
        }
    }

    var trailers: HTTPFields? { reader.trailers }
}
