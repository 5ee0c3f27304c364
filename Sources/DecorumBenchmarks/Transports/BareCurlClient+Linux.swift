#if os(Linux)
import Decorum
import DecorumProbe
import Foundation

/// libcurl on one thread, used directly as by a program in C.
struct BareCurlClient: LoopingClient {
    func getRepeatedly(_ url: String, concurrency: Int, seconds: Double, upTo limit: Int) throws -> Int {
        let count = unsafe decorum_bare_curl_get(url, Self.lines, Int32(concurrency), seconds, Int64(limit))
        guard count >= 0 else { throw BenchmarkFailure("libcurl is missing, or failed.") }
        return Int(count)
    }

    func get(_ url: String) throws {
        guard try download(url) > 0 else { throw BenchmarkFailure("The answer is empty.") }
    }

    func download(_ url: String) throws -> Int64 {
        let count = unsafe decorum_bare_curl_download(url, Self.lines)
        guard count >= 0 else { throw BenchmarkFailure("libcurl is missing, or failed.") }
        return count
    }

    func upload(_ file: URL, to url: String) throws {
        let size = try FileHandle(forReadingFrom: file).seekToEnd()
        // A field name without a value keeps libcurl from sending `Expect: 100-continue`.
        let isSent = unsafe decorum_bare_curl_upload(file.path, Int64(size), url, Self.lines + "\nExpect:")
        guard isSent else { throw BenchmarkFailure("libcurl is missing, or failed.") }
    }

    /// The fields that every client sends, one per line.
    private static let lines = fields.map { "\($0.name.rawName): \($0.value)" }.joined(separator: "\n")
}
#endif
