import Foundation

/// Collects a response that holds a secret in memory; the file of the same variant is removed once the response is
/// complete.
struct MemoryOnlyResponseWriter: ResponseWriter {
    private let writer: MemoryResponseWriter
    private let files: ResponseFiles
    private let name: ResponseFileName

    init(_ writer: MemoryResponseWriter, in files: ResponseFiles, instead name: ResponseFileName) {
        self.writer = writer
        self.files = files
        self.name = name
    }

    func write(_ chunk: Data) -> Bool {
        writer.write(chunk)
    }

    @concurrent func finish() async {
        if writer.complete() { files.remove(name) }
    }
}
