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

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
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

    @Test func `A file is replaced, and stays where the answer is refused or too long`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let demo = try DemoAPI()
        let connection = try SystemConnection().calling(at: demo.url)
        let file = folder.appending(path: "manual.txt")
        try Data("old".utf8).write(to: file)
        await #expect(throws: BodyLimitError.self) {
            try await connection.value(of: .get("files/manual", as: .file(file, upTo: 3)))
        }
        let refusal = await #expect(throws: RefusalError.self) {
            try await connection.value(of: .get("files/other", as: .file(file, upTo: 1000)))
        }
        #expect(refusal?.status == .notFound)
        #expect(try String(contentsOf: file, encoding: .utf8) == "old")
        #expect(try await connection.value(of: .get("files/manual", as: .file(file, upTo: 1000))) == file)
        #expect(try String(contentsOf: file, encoding: .utf8) == "Read me first.\n")
        #expect(try names == ["manual.txt"])
        demo.stop()
    }

    @Test func `A download is read as it arrives, and its progress is reported`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let origin = try LoopbackOrigin()
        origin.route(.get, "/large", .generated(count: 8 << 20))
        let file = folder.appending(path: "large.bin")
        let reports = Reports()
        let download = Endpoint<URL>.get("large", as: .file(file, upTo: 8 << 20))
            .reportingDownload(every: .zero) { await reports.add($0) }
        let connection = try SystemConnection().calling(API(limit: 1), at: origin.url)
        #expect(try await connection.value(of: download) == file)
        let all = await reports.all
        #expect(all.first?.bytes == 0 && all.last?.fraction == 1 && all.last?.bytes == 8 << 20)
        #expect(all.allSatisfy { $0.total == 8 << 20 } && all.count > 10)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.bytes <= $1.bytes })
        #expect(BytePattern.matches(try Data(contentsOf: file)))
        origin.stop()
    }

    private actor Reports {
        private(set) var all: [TransferProgress] = []

        func add(_ progress: TransferProgress) { all.append(progress) }
    }
}
