#if os(macOS) || os(Linux)
import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct MultipartTransferTests {
    @Test func `A cancelled upload lets go of the part that it was reading`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.post, "/files", .init(.created))
        let transfer = GatedTransfer()
        let task = Task { [url = origin.url] in
            var form: Multipart = ["title": "Summer"]
            form.append("slow", transfer.body(chunks: 100), named: "slow.bin")
            let connection = try SystemConnection().calling(at: url)
            try await connection.value(of: Endpoint<Void>.post("files", content: .multipart(form)))
        }
        transfer.gate.admit(2)
        try await transfer.gate.waitForWaiting(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(transfer.chunksRead == 2)
        try await origin.waitForOpenConnections(0)
        try await yield { !transfer.isAlive }
        origin.stop()
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
