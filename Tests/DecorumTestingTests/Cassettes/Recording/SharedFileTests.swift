#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Adding to files that are large, or that others write at the same time.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SharedFileTests {
    let folder = TemporaryFolder()

    private func record(_ urls: [String], _ mode: CassetteMode, in file: String) async throws -> Cassette {
        let cassette = try Cassette(at: folder.path(file), mode: mode)
        let connection = CassetteConnection(
            cassette, recording: StubConnection { _ in Response(status: .ok, body: "x") })
        for url in urls { _ = try await connection.send(.get(url)) }
        return cassette
    }

    @Test func `Adding keeps the text of the file, whatever its layout`() async throws {
        let texts = [
            #"{"cassette":1,"interactions":[{"request":{"method":"GET","url":"/"},"response":{"status":200,"json":[1,[2]]}}]}"#,
            "{\"cassette\": 1, \"interactions\": [\r\n\t{\"request\": {\"method\": \"GET\", \"url\": \"/[]\"}, \"response\": {\"status\": 200}}\r\n],\n\"note\": 1}\n\n",
        ]
        for (number, text) in texts.enumerated() {
            try folder.write(text, to: "\(number).json")
            try await record(["https://example.com/"], .append, in: "\(number).json").finish()
            let written = try folder.text("\(number).json")
            let end = try #require(text.lastIndex { $0 == "]" })
            let kept = text[..<end].trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(written.hasPrefix(kept + ","))
            #expect(written.hasSuffix(text[end...]))
            let urls = try Cassette(at: folder.path("\(number).json"), mode: .replay).interactions().map(\.request.url)
            #expect(urls == [number == 0 ? "/" : "/[]", "https://example.com/"])
        }
    }

    @Test func `A secret in an addition is found, and its place in the whole file is told`() async throws {
        try await record((0..<3).map { "https://example.com/\($0)" }, .once, in: "a.json").finish()
        let before = try folder.text("a.json")
        let cassette = try Cassette(at: folder.path("a.json"), mode: .append)
        let secret = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"
        let stub = StubConnection { _ in Response(status: .ok, body: Body(Data("key \(secret)".utf8))) }
        _ = try await CassetteConnection(cassette, recording: stub).send(.get("https://example.com/new"))
        let error = await #expect(throws: SecretFoundError.self) { try await cassette.finish() }
        #expect(error?.description.contains("interactions[3]") == true)
        #expect(try folder.text("a.json") == before)
    }

    @Test(arguments: [CassetteMode.once, .append, .rewrite], [CassetteMode.once, .append, .rewrite])
    func `Two recorders of one file lose nothing, whatever their modes`(one: CassetteMode, other: CassetteMode)
        async throws
    {
        if one != .once { try await record(["https://example.com/old"], .once, in: "a.json").finish() }
        let first = try await record(["https://example.com/1", "https://example.com/2"], one, in: "a.json")
        let second = try await record(
            ["https://example.com/3"], one == .once ? .once : other == .once ? .append : other, in: "a.json")
        try await first.finish()
        try await second.finish()
        let urls = try Cassette(at: folder.path("a.json"), mode: .replay).interactions().map(\.request.url)
        #expect(Set(urls).isSuperset(of: (1...3).map { "https://example.com/\($0)" }))
        #expect(urls.count == Set(urls).count)
    }

    @Test func `Processes that record images into one file at the same time leave each image`() async throws {
        let path = folder.path("shared.json")
        async let first: Void = expectRecording(from: 0, at: path)
        async let second: Void = expectRecording(from: 10, at: path)
        async let third: Void = expectRecording(from: 20, at: path)
        _ = await (first, second, third)
        let interactions = try Cassette(at: path, mode: .replay).interactions()
        #expect(Set(interactions.map(\.request.url)).count == 30)
        #expect(interactions.count == 30)
        for interaction in interactions {
            let number = Int(interaction.request.url.split(separator: "/").last ?? "") ?? -1
            #expect(interaction.response?.body.bytes == Self.image(number))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("shared.tape")).count == 30)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(Set(names) == ["shared.json", "shared.tape"])
    }

    private static func image(_ number: Int) -> Data {
        Data([0x89, 0, UInt8(truncatingIfNeeded: number)]) + Data(repeating: 0xFF, count: 5000)
    }

    private func expectRecording(from start: Int, at path: String) async {
        await #expect(processExitsWith: .success) { [path, start] in
            ProcessTests.begin()
            for number in start..<start + 10 {
                let cassette = try Cassette(at: path, mode: .append)
                let image = Response(status: .ok, fields: [.contentType: "image/png"], body: Body(Self.image(number)))
                _ = try await CassetteConnection(cassette, recording: StubConnection(image))
                    .send(.get("https://example.com/\(number)"))
                try await cassette.finish()
            }
        }
    }
}
#endif
