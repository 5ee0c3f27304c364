import Foundation
import Synchronization

/// The number of bytes of a body that have been read, and the first few of them.
final class BodyTally: Sendable {
    struct Reading: Sendable {
        var count: Int64 = 0
        var preview = Data()

        mutating func add(_ chunk: Data, previewLimit: Int) {
            count += Int64(chunk.count)
            let room = previewLimit - preview.count
            if room > 0 { preview.append(chunk.prefix(room)) }
        }
    }

    private let limit: Int
    private let state = Mutex(Reading())

    init(previewLimit: Int = 0) {
        limit = max(0, previewLimit)
    }

    /// The bytes that were read since the body was last opened.
    var reading: Reading { state.withLock { $0 } }

    func add(_ chunk: Data) {
        state.withLock { $0.add(chunk, previewLimit: limit) }
    }

    /// Counts a body while it is sent; the count restarts when the body is opened again.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - report: Gets the bytes so far after each chunk.
    /// - Returns: A body with the same content.
    func counting(_ body: Body, _ report: (@Sendable (_ count: Int64) -> Void)? = nil) -> Body {
        let counted = body.observed { event in
            guard case .chunk(let chunk) = event else { return }
            self.add(chunk)
            report?(self.reading.count)
        }
        return Body(trustedLength: body.length, replay: body.replay) { offset in
            self.state.withLock { $0 = Reading(count: offset) }
            return try await counted.open(at: offset)
        }
    }
}
