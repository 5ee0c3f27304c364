import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct MultipartMemoryTests {
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

    @Test func `A form of 4 GiB takes the memory of one chunk`() async throws {
        let chunk = Data(repeating: 5, count: 1 << 20)
        var form: Multipart = ["title": "long"]
        form.append(
            "file", Body(length: 4 << 30, replay: .fromStart) { _ in RepeatingReader(chunk: chunk, count: 4 << 10) },
            named: "long.bin")
        let body = try Body(multipart: form).reportingProgress(every: .seconds(1), clock: VirtualClock()) { _ in }
        let peak = ProcessMemory.peak
        var count: Int64 = 0
        for try await chunk in body { count += Int64(chunk.count) }
        #expect(count == body.length)
        #expect(count > 4 << 30)
        #expect(ProcessMemory.peak - peak < 64 << 20)
    }
}
