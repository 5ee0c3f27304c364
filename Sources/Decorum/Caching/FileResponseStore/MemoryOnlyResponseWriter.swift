import Foundation

/// Collects a response that holds a secret in memory; the file of the same variant is removed once the response is
/// complete.
struct MemoryOnlyResponseWriter: ResponseWriter {
    private let writer: MemoryResponseWriter
    private let onKept: @Sendable () async -> Void

    init(_ writer: MemoryResponseWriter, onKept: @escaping @Sendable () async -> Void) {
        self.writer = writer
        self.onKept = onKept
    }

    func write(_ chunk: Data) -> Bool {
        writer.write(chunk)
    }

    func finish() async -> Bool {
        guard writer.finish() else { return false }
        await onKept()
        return true
    }
}
