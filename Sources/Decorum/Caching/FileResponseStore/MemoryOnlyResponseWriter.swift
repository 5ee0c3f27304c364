import Foundation

/// Collects a response that holds a secret in memory; the file of the same variant is removed once the response is
/// complete.
struct MemoryOnlyResponseWriter: ResponseWriter {
    private let writer: MemoryResponseWriter
    private let keep: @Sendable (@escaping @Sendable () -> Bool) async -> Bool

    /// Creates a writer that has the complete response kept by a closure, which calls the closure that it is given.
    init(
        _ writer: MemoryResponseWriter, keep: @escaping @Sendable (@escaping @Sendable () -> Bool) async -> Bool
    ) {
        self.writer = writer
        self.keep = keep
    }

    func write(_ chunk: Data) -> Bool {
        writer.write(chunk)
    }

    func finish() async -> Bool {
        await keep { [writer] in writer.finish() }
    }
}
