#if os(Linux)
import Decorum
import DecorumProbe
import Foundation

/// libcurl as a program in C uses it, on one thread.
struct BareCurlClient: LoopingClient {
    func getRepeatedly(_ url: String, concurrency: Int, seconds: Double) throws -> Int {
        let count = unsafe Self.withLines { unsafe decorum_bare_curl_get(url, $0, Int32(concurrency), seconds) }
        guard count >= 0 else { throw BenchmarkFailure("libcurl is missing, or failed.") }
        return Int(count)
    }

    func get(_ url: String) throws {
        guard try download(url) > 0 else { throw BenchmarkFailure("The answer is empty.") }
    }

    func download(_ url: String) throws -> Int64 {
        let count = unsafe Self.withLines { unsafe decorum_bare_curl_download(url, $0) }
        guard count >= 0 else { throw BenchmarkFailure("libcurl is missing, or failed.") }
        return count
    }

    func upload(_ file: URL, to url: String) throws {
        let size = try FileHandle(forReadingFrom: file).seekToEnd()
        let isSent = unsafe Self.withLines(["Expect:"]) {
            unsafe decorum_bare_curl_upload(file.path, Int64(size), url, $0)
        }
        guard isSent else { throw BenchmarkFailure("libcurl is missing, or failed.") }
    }

    /// Lends the fields that every client sends as lines of C; the copies end with the call.
    private static func withLines<Result>(
        _ others: [String] = [], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let lines = fields.map { "\($0.name.rawName): \($0.value)" } + others
        let copies = unsafe lines.map { unsafe UnsafePointer(strdup($0)) }
        defer { unsafe copies.forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) } }
        let terminated: [UnsafePointer<CChar>?] = unsafe copies + [nil]
        return unsafe terminated.withUnsafeBufferPointer { lines in
            guard let start = lines.baseAddress else { preconditionFailure("There is a last line at least.") }
            return unsafe body(start)
        }
    }
}
#endif
