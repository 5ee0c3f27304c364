import DecorumDemo
import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

/// The readings of text and files, as endpoints use them.
@Suite struct ResponseReadingFormsTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "forms-\(UUID())")

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    @Test func `Text is read in its charset, and under the limit of the API`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let stub = StubConnection { _ in
            Response(
                status: .ok, fields: [.contentType: "text/plain; charset=iso-8859-1"], body: Body(Data([0x61, 0xE9])))
        }
        let text = Endpoint<String>.get("https://api.example.com/text", as: .text)
        let response = try await stub.response(of: text)
        #expect(response.value == "aé")
        #expect(response.content == Data([0x61, 0xE9]))
        #expect(stub.requests.first?.head.headerFields[.accept] == nil)
        await #expect(throws: BodyLimitError.self) {
            try await stub.calling(API(limit: 1)).value(of: text)
        }
    }

    @Test func `A file of the demo gets the name that the server gives it`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let demo = try DemoAPI()
        let connection = try SystemConnection().calling(API(limit: 3), at: demo.url)
        let manual = Endpoint<URL>.get("files/manual", as: .file(in: folder, upTo: 1000))
        // The limit of the API is for content in memory.
        let first = try await connection.response(of: manual)
        #expect(first.value.lastPathComponent == "Manual é.txt" && first.content == nil)
        #expect(try String(contentsOf: first.value, encoding: .utf8) == "Read me first.\n")
        #expect(try await connection.value(of: manual).lastPathComponent == "Manual é 2.txt")
        demo.stop()
    }
}
