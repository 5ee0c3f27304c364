import Decorum
import Foundation
import Testing

@Suite final class BodyFileTests {
    let file = FileManager.default.temporaryDirectory
        .appending(component: "decorum-body-\(UInt64.random(in: .min ... .max))")

    deinit {
        try? FileManager.default.removeItem(at: file)
    }

    @Test func `A file is read in chunks, any number of times, from any offset`() async throws {
        let content = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try content.write(to: file)
        let body = try Body(contentsOf: file)

        #expect(body.length == 1_000_000)
        #expect(body.replay == .fromAnyOffset)
        #expect(body.file == file)
        for _ in 1...2 { #expect(try await body.data(upTo: 1_000_000) == content) }
        #expect(try await body.rest(from: 999_990) == content.suffix(10))
        #expect(body == (try Body(contentsOf: file)))
    }

    @Test func `A missing file and a folder throw when the body is made`() {
        #expect(throws: (any Error).self) { try Body(contentsOf: file) }
        #expect(throws: CocoaError.self) { try Body(contentsOf: FileManager.default.temporaryDirectory) }
    }

    @Test func `A file that has become shorter throws, and a longer one is read to the length it had`() async throws {
        try Data(count: 100).write(to: file)
        let body = try Body(contentsOf: file)
        try Data(count: 99).write(to: file)
        await #expect(throws: BodyLengthError.self) { try await body.data(upTo: 100) }
        try Data(count: 200).write(to: file)
        #expect(try await body.data(upTo: 200).count == 100)
    }

    @Test func `An empty file is an empty body`() async throws {
        try Data().write(to: file)
        #expect(try Body(contentsOf: file).isEmpty)
        #expect(try await Body(contentsOf: file).data(upTo: 0).isEmpty)
    }
}
