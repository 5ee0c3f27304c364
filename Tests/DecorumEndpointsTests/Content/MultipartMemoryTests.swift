#if os(macOS) || os(Linux)
import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct MultipartMemoryTests {
    @Test func `A form of 4 GiB takes the memory of one chunk`() async throws {
        let form = try Multipart.long(4 << 30)
        let body = Body(multipart: form).reportingProgress(every: .seconds(1), clock: VirtualClock()) { _ in }
        let peak = ProcessMemory.peak
        var count: Int64 = 0
        for try await chunk in body { count += Int64(chunk.count) }
        #expect(count == body.length)
        #expect(count > 4 << 30)
        #expect(ProcessMemory.peak - peak < 64 << 20)
    }
}

extension ProcessTests {
    /// `DECORUM_SOAK=1` in the environment selects the long form, of 4 GiB.
    @Suite(.timeLimit(.minutes(10))) struct MultipartUploadTests {
        @Test func `A long form is uploaded over a socket in constant memory`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let size: Int64 = Footprint.isSoak ? 4 << 30 : 256 << 20
                let origin = try LoopbackOrigin()
                origin.route(.post, "/files", .init(.created))
                let connection = try SystemConnection().calling(at: origin.url)
                try await connection.value(of: Endpoint<Void>.post("files", content: .multipart(try .long(1 << 20))))
                let peak = ProcessMemory.peak

                let progress = Mutex(TransferProgress?.none)
                let upload = Endpoint<Void>.post("files", content: .multipart(try .long(size)))
                try await connection.value(
                    of: upload.reportingUpload { report in progress.withLock { $0 = report } })

                let length = try #require(origin.requests.last).bodyLength
                #expect(length > size)
                #expect(progress.withLock { $0?.bytes } == length)
                #expect(ProcessMemory.peak - peak < 32 << 20)
            }
        }
    }
}

extension Multipart {
    /// A form with a file of this size, which is a stream.
    fileprivate static func long(_ size: Int64) throws -> Multipart {
        let chunk = Data(repeating: 5, count: 1 << 20)
        var form: Multipart = ["title": "long"]
        form.append(
            "file",
            Body(length: size, replay: .fromStart) { _ in
                RepeatingReader(chunk: chunk, count: Int(size) / chunk.count)
            },
            named: "long.bin")
        return form
    }
}

/// A stream that gives the same chunk again and again.
private struct RepeatingReader: BodyReader {
    let chunk: Data
    var count: Int

    mutating func next() async throws -> Data? {
        guard count > 0 else { return nil }
        count -= 1
        return chunk
    }

    var trailers: HTTPFields? { nil }
}
#endif
