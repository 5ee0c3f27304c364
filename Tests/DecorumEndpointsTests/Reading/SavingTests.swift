import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@Suite struct SavingTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "saving-\(UUID())")

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    private func answer(_ name: String? = nil, _ text: String = "content", status: HTTPResponse.Status = .ok)
        -> Response
    {
        var response = Response(status: status, body: Body(Data(text.utf8)))
        response.head.headerFields[.contentDisposition] = name.map { "attachment; filename=\"\($0)\"" }
        return response
    }

    @Test func `A file is replaced in one step`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "a b.txt")
        try await answer(nil, "old").save(to: file, upTo: 100)
        try await answer(nil, "new").save(to: file, upTo: 100)
        #expect(try String(contentsOf: file, encoding: .utf8) == "new")
        #expect(try names == ["a b.txt"])
    }

    @Test(arguments: [0o600, 0o640, 0o666, 0o400])
    func `A file keeps its permissions when it is replaced, from the first byte`(mode: Int) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        @Sendable func modes() throws -> [Int?] {
            try names.map {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.appending(path: $0).path)
                return attributes[.posixPermissions] as? Int
            }
        }
        let file = folder.appending(path: "a")
        try Data("old".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        let body = Body(replay: .once) { _ in
            #expect(try modes() == [mode, mode])
            return try await Body("new").open()
        }
        try await Response(status: .ok, body: body).save(to: file, upTo: 100)
        #expect(try modes() == [mode])
        #expect(try Data(contentsOf: file) == Data("new".utf8))
    }

    @Test func `A folder gets a new file for each response, and none outside`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let inner = folder.appending(path: "inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
        var files: [String] = []
        for name in ["a.tar.gz", "a.tar.gz", "../../a.tar.gz", "..", "NUL"] {
            files.append(try await answer(name).save(in: inner, upTo: 100).lastPathComponent)
        }
        #expect(files == ["a.tar.gz", "a 2.tar.gz", "a 3.tar.gz", "download", "_NUL"])
        #expect(try names == ["inner"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: inner.path).count == 5)
    }

    @Test func `A link that waits in the folder is not followed`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let target = folder.appending(path: "target")
        let link = folder.appending(path: "a.txt")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
        let file = try await answer("a.txt").save(in: folder, upTo: 100)
        #expect(file.lastPathComponent == "a 2.txt")
        try await answer().save(to: link, upTo: 100)
        #expect(try names == ["a 2.txt", "a.txt"])
    }

    @Test func `A failure leaves no file, and the old one`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "a.txt")
        try Data("old".utf8).write(to: file)
        let transfer = GatedTransfer.open
        let broken = Response(
            status: .ok, body: transfer.body(chunks: 3, failure: TransportError(.connectionLost, at: .body)))
        await #expect(throws: TransportError.self) { try await broken.save(to: file, upTo: 1 << 20) }
        await #expect(throws: BodyLimitError.self) { try await answer(nil, "1234").save(to: file, upTo: 3) }
        let endless = Response(status: .ok, body: GatedTransfer.open.body(chunks: 100))
        await #expect(throws: BodyLimitError.self) { _ = try await endless.save(in: folder, upTo: 5000) }
        #expect(try names == ["a.txt"])
        #expect(try String(contentsOf: file, encoding: .utf8) == "old")
    }

    @Test func `With a coding that is not known, text, saving and decoding fail alike`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let coded = Response(status: .ok, fields: [.contentEncoding: "x-zap, br"], body: "[1]")
        let response = try await StubConnection(coded).decompressing().send(.get("https://example.com/"))
        let errors = [
            await #expect(throws: ContentCodingError.self) { _ = try await response.text(upTo: 100) },
            await #expect(throws: ContentCodingError.self) { _ = try await response.save(in: folder, upTo: 100) },
            await #expect(throws: ContentCodingError.self) { _ = try await response.decode([Int].self, upTo: 100) },
        ]
        #expect(errors.allSatisfy { $0?.description.contains("x-zap") == true })
        #expect(try names == [])
    }

    @Test func `A folder that cannot take the file is named`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let missing = folder.appending(path: "not there")
        let file = folder.appending(path: "a.txt")
        try Data("old".utf8).write(to: file)
        for place in [missing, file] {
            let path = place.path(percentEncoded: false)
            let errors = [
                await #expect(throws: FileWritingError.self) { _ = try await answer().save(in: place, upTo: 100) },
                await #expect(throws: FileWritingError.self) {
                    try await answer().save(to: place.appending(path: "b"), upTo: 100)
                },
            ]
            for error in errors {
                let error = try #require(error)
                #expect(error.description.contains(path) && error.description.contains("There is no folder"))
                #expect(
                    !error.description.contains("partial") && error.folder.lastPathComponent == place.lastPathComponent)
                #expect(error.underlyingError is CocoaError)
            }
        }
        let error = await #expect(throws: FileWritingError.self) { try await answer().save(to: folder, upTo: 100) }
        #expect(error?.underlyingError is POSIXError)
        #expect(try names == ["a.txt"])
    }

    @Test func `A cancelled task leaves no file`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let transfer = GatedTransfer()
        let response = Response(status: .ok, body: transfer.body(chunks: 3))
        let task = Task { [folder] in try await response.save(in: folder, upTo: 1 << 20) }
        transfer.gate.admit()
        try await transfer.gate.waitForWaiting(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(try names == [])
    }

    @Test(arguments: [404, 206, 500, 304])
    func `Neither an error nor a part of the content is saved`(code: Int) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let response = answer("a.txt", status: HTTPResponse.Status(code: code))
        let error = await #expect(throws: ResponseSavingError.self) {
            _ = try await response.save(in: folder, upTo: 100)
        }
        #expect(error?.description.contains("\(code)") == true)
        #expect(try names == [])
    }
}
