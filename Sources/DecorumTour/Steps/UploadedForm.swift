import DecorumEndpoints
import DecorumTesting
import Foundation
import Synchronization

struct UploadedForm: Step {
    private static let size: Int64 = 32 << 20

    let title = "A form with a file of 32 MiB is sent with a progress bar, and is never in memory as a whole"
    let pointer = "The bar; the file is made while it is sent."
    let code = "api.value(of: .uploading(form).reportingUpload { progress in … })"

    func run(on stage: Stage) async throws {
        var form: Multipart = ["title": "Summer", "public": true]
        form.append("film", Self.film, named: "summer.mov", as: "video/quicktime")

        let fractions = Mutex<[Double]>([])
        let upload = try await stage.api.value(
            of: .uploading(form).reportingUpload(every: .milliseconds(20)) { [terminal = stage.terminal] progress in
                fractions.withLock { $0.append(progress.fraction ?? 0) }
                terminal.app(Self.bar(progress))
            })
        stage.terminal.app("the server got \(upload.length) bytes")

        let shown = fractions.withLock { $0 }
        try stage.check(upload.length > Self.size, "the server got the whole form")
        try stage.check(shown == shown.sorted() && shown.last == 1, "the bar grows to its end")
    }

    /// Content that is made while it is sent.
    private static let film = Body(length: size, replay: .fromAnyOffset) { offset in
        PatternReader(offset: offset, end: size)
    }

    private static func bar(_ progress: TransferProgress) -> String {
        let count = Int((progress.fraction ?? 0) * 32)
        let bar = String(repeating: "█", count: count) + String(repeating: "·", count: 32 - count)
        return "\(bar) \(progress.bytes >> 20) MiB" + (progress.rate.map { ", \(Int($0) >> 20) MiB/s" } ?? "")
    }
}

private struct PatternReader: BodyReader {
    var offset: Int64
    let end: Int64
    let trailers: HTTPFields? = nil

    mutating func next() async throws -> Data? {
        guard offset < end else { return nil }
        let count = min(end - offset, 64 << 10)
        defer { offset += count }
        return BytePattern.bytes(Int(count), at: offset)
    }
}
