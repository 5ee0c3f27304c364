import Foundation
import HTTPTypes
import Synchronization

extension Body {
    /// Stores the body while it is read for the first time, and keeps it once the end was reached.
    ///
    /// - Parameters:
    ///   - start: What goes into the store in front of the body.
    ///   - open: Opens the writer, once the body is read; nothing is stored where it gives none.
    ///   - isOutdated: Tells at the end of the body whether it is not worth keeping any more.
    ///   - forget: Forgets what is stored, where a body is not wanted that was to take its place.
    /// - Returns: A body with the same content, length and replay rule.
    func stored(
        after start: Body? = nil, by open: @escaping @Sendable () async -> (any ResponseWriter)?,
        unless isOutdated: @escaping @Sendable () -> Bool,
        orForget forget: @escaping @Sendable () async -> Void = {}
    ) -> Body {
        let content = self
        let turn = FirstTurn()
        return Body(trustedLength: length, replay: replay) { offset in
            let reader = try await content.open(at: offset)
            guard offset == 0, turn.take() else { return reader }
            return StoringBodyReader(
                reader: reader, start: start, open: open, isOutdated: isOutdated, forget: forget)
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
    let start: Body?
    var open: (@Sendable () async -> (any ResponseWriter)?)?
    let isOutdated: @Sendable () -> Bool
    let forget: @Sendable () async -> Void
    var writer: (any ResponseWriter)?

    mutating func next() async throws -> Data? {
        let chunk = try await reader.next()
        if let open {
            self.open = nil
            writer = await open()
            if writer == nil { await forget() }
            if let start { await write(start) }
        }
        if let chunk {
            await write(chunk)
        } else {
            if !isOutdated() { await writer?.finish() }
            writer = nil
        }
        return chunk
    }

    private mutating func write(_ chunk: Data) async {
        guard let writer, await !writer.write(chunk) else { return }
        self.writer = nil
        await forget()
    }

    private mutating func write(_ start: Body) async {
        do {
            for try await chunk in start {
                guard writer != nil else { return }
                await write(chunk)
            }
        } catch {
            // What was stored is gone: the rest alone is no response.
            writer = nil
        }
    }

    var trailers: HTTPFields? { reader.trailers }
}
