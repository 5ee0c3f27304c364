import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTransfers

/// How an upload goes on, whatever the protocol.
@Suite(.timeLimit(.minutes(3))) struct UploadTests {
    // A file is read in chunks of 256 KiB, so that the first one has not the last byte.
    let content = BytePattern.bytes(400_000)
    let folder = DownloadFolder(BytePattern.bytes(400_000))
    let server = UploadServer()
    let clock = ImpatientClock()

    static func request(_ url: String = "https://example.com/files") throws -> Request { try .post(url) }

    /// Uploads the file of the folder on a clock that does not wait.
    private func upload(
        _ request: Request? = nil, over connection: (any Connection)? = nil,
        by method: some UploadProtocol = ResumableUpload(), policy: UploadPolicy = UploadPolicy()
    ) async throws -> Response {
        try await (connection ?? server as any Connection).uploading(
            Body(contentsOf: folder.file), to: request ?? Self.request(), by: method, policy: policy, clock: clock,
            generator: SeededGenerator(seed: 1)
        ).value
    }

    /// Leaves an upload of which the server has stored the first 30,000 bytes and the record tells.
    private func interrupt(_ request: Request? = nil) async throws {
        try await server.interruptUpload(of: folder.file, to: request ?? Self.request(), clock: clock)
    }

    @Test func `Random breaks change no byte, and store none twice`() async throws {
        for seed in 0..<UInt64(Footprint.isSoak ? 10_000 : 200) {
            let (server, content) = (UploadServer(), BytePattern.bytes(Int(seed % 7 + 1) * 20_011))
            _ = try await server.uploadThroughBreaks(Body(content), to: Self.request(), seed: seed)
            #expect(server.contents == [content], "seed \(seed)")
        }
    }

    @Test func `M66, M72: A later process goes on, by a private record without a credential`() async throws {
        var request = try Self.request("https://example.com/files?token=secret-1")
        request.head.headerFields[.authorization] = "Bearer secret-2"
        request.options.principal = Principal("anna@example.com")
        try await interrupt(request)

        let record = try #require(folder.others.first)
        #expect(try folder.mode(of: record.lastPathComponent) == 0o600)
        let text = try String(contentsOf: record, encoding: .utf8)
        #expect(text.contains("/1") && !text.contains("secret") && !text.contains("anna"))

        // Another user, another token and another protocol have uploads of their own.
        var other = request
        other.head.path = "/files?token=secret-3"
        #expect(try await upload(other).status == .ok)
        request.options.principal = nil
        #expect(try await upload(request, over: server.acting(for: Principal("bob"))).status == .ok)
        request.options.principal = Principal("anna@example.com")
        await #expect(throws: UploadError(.invalidAnswer)) { try await upload(request, by: S3MultipartUpload()) }
        // The stack may name the same user.
        let acting = server.acting(for: Principal("anna@example.com"))
        request.options.principal = nil
        #expect(try await upload(request, over: acting).body.text(upTo: 10) == "done")
        #expect(server.methods.joined(separator: " ") == "POST PATCH POST PATCH POST PATCH POST HEAD PATCH")
        #expect(server.requests[0].head.headerFields["Content-Type"] == "video/mp4")
        #expect(server.requests.last?.head.headerFields["Upload-Offset"] == "30000")
        #expect(server.requests.last?.head.headerFields[.authorization] == "Bearer secret-2")
        #expect(server.contents == [content, content, content] && folder.others.isEmpty)
    }

    private func write(_ content: Data, on date: Date = date) throws {
        try content.write(to: folder.file)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: folder.file.path)
    }

    @Sendable private func rewrite(_ request: Request) throws -> Response? {
        try write(content, on: Self.date + 1)
        return nil
    }

    private static let date = Date(timeIntervalSince1970: 1_700_000_000)
    private static let changes:
        [(@Sendable (UploadTests) async throws -> Void, UploadError.Reason?, methods: [String])] = [
            // The file is longer, begins in another way, was written anew, or is while it is sent.
            ({ try $0.write($0.content + [1]) }, .contentChanged, ["DELETE", "POST", "PATCH"]),
            ({ try $0.write([1] + $0.content.dropFirst()) }, .contentChanged, ["DELETE", "POST", "PATCH"]),
            ({ try $0.write($0.content, on: date + 1) }, .contentChanged, ["DELETE", "POST", "PATCH"]),
            ({ $0.server.lie($0.rewrite) }, .contentChanged, ["HEAD", "PATCH", "DELETE", "POST", "PATCH"]),
            // The record is damaged.
            ({ try Data("{".utf8).write(to: #require($0.folder.others.first)) }, .damagedRecord, ["POST", "PATCH"]),
            // The upload has expired, or is gone.
            ({ try await $0.clock.sleep(for: .seconds(61)) }, nil, ["POST", "PATCH"]),
            ({ $0.server.lie { $0.head.method == .head ? .answer(404) : nil } }, nil, ["HEAD", "POST", "PATCH"]),
        ]

    @Test(arguments: changes.indices)
    func `What has changed begins anew, after a restart where the app has to know of it`(_ row: Int) async throws {
        let (change, reason, methods) = Self.changes[row]
        try write(content)
        server.lie { $0.head.method == .post ? .answer(201, ["Location": "/a", "Upload-Limit": "max-age=60"]) : nil }
        try await interrupt()
        server.lie(nil)
        try await change(self)
        // A layer that makes errors of statuses hides none.
        let transfer = try server.validatingStatus().uploading(
            Body(contentsOf: folder.file), to: Self.request(), clock: clock)
        if let reason {
            await #expect(throws: UploadError(reason)) { try await transfer.value }
            #expect(folder.others.map(\.pathExtension) == [reason == .damagedRecord ? "damaged" : "upload"])
            transfer.restart()
        }
        #expect(try await transfer.value.status == .ok)
        #expect(server.methods.dropFirst(2) == methods[...])
        #expect(try server.contents.contains(folder.content))
        #expect(folder.others.isEmpty)
    }

    @Test func `A record that was set aside can be discarded`() async throws {
        try await interrupt()
        try Data("{".utf8).write(to: #require(folder.others.first))
        await #expect(throws: UploadError(.damagedRecord)) {
            try await server.discardUpload(of: folder.file, to: Self.request())
        }
        #expect(folder.others.count == 1)
        try await server.discardUpload(of: folder.file, to: Self.request())
        #expect(folder.others.isEmpty && server.methods == ["POST", "PATCH"])
    }

    @Test func `At the deadline of the caller, it ends`() async throws {
        let stub = StubConnection { _ in throw TransportError(.deadlineExceeded, at: .head) }
        var request = try Self.request()
        request.options.deadline = .now - .seconds(3600)
        await #expect(throws: TransportError.self) { try await upload(request, over: stub) }
        #expect(stub.requests.count == 1)
    }

    @Test func `Without a place for the record, nothing is sent`() async throws {
        // Files in folders in which nobody can write.
        let files = ["/proc/version", "/System/Library/CoreServices/SystemVersion.plist"]
        let file = URL(filePath: files.first { FileManager.default.fileExists(atPath: $0) } ?? "")
        await #expect(throws: PrivateFileError.self) {
            try await server.upload(Body(contentsOf: file), to: Self.request())
        }
        #expect(server.requests.isEmpty)
    }

    @Test func `An upload that is gone again is not begun again`() async throws {
        try await interrupt()
        server.lie { $0.head.method == .post ? nil : .answer(410) }
        await #expect(throws: UploadError(.gone)) { try await upload() }
        #expect(server.methods == ["POST", "PATCH", "HEAD", "POST", "PATCH"] && folder.others.isEmpty)
    }

    @Test func `Another origin is followed only if the policy names it, and without a credential`() async throws {
        let numbers = Numbers()
        server.lie { request in
            guard request.head.method == .post else { return nil }
            return .answer(201, ["Location": "https://upload.example.net/\(numbers.next())"])
        }
        var request = try Self.request()
        request.head.headerFields[.authorization] = "Bearer secret"
        let other = try Origin("https://upload.example.net")
        await #expect(throws: UploadError(.foreignOrigin(other))) { try await upload(request) }
        #expect(server.methods == ["POST"])

        let (own, policy) = (try Origin("https://example.com"), UploadPolicy(origins: [other]))
        let connections: [(any Connection, credential: String?)] = [
            (server, nil),
            // What is bound to the other origin alone gives nothing to a request that the first one has led there.
            (try server.authenticating(with: .bearer("token"), for: other), nil),
            (try server.authenticating(with: .bearer("token"), for: own, other), "Bearer token"),
        ]
        for (connection, credential) in connections {
            #expect(try await upload(request, over: connection, policy: policy).status == .ok)
            #expect(server.requests.last?.head.authority == "upload.example.net")
            #expect(server.requests.last?.head.headerFields[.authorization] == credential)
        }
    }

    @Test func `A request without an origin takes no credential to where a redirect has led`() async throws {
        let stub = StubConnection { request in
            _ = try await request.body.data(upTo: 100)
            var response = Response.answer(200, ["Location": "/files/1"])
            response.metadata.url = URL(string: "https://other.example.net/files")
            return response
        }
        var request = try Request.post("/files")
        for name in ["Authorization", "Cookie", "X-Trace"] { request.head.headerFields[name] = "a" }
        #expect(try await stub.upload(Body("content"), to: request).status == .ok)
        let fields = try #require(stub.requests.last).head.headerFields
        #expect(stub.requests.last?.url?.absoluteString == "https://other.example.net/files/1")
        #expect(fields["Authorization"] == nil && fields["Cookie"] == nil && fields["X-Trace"] == "a")
    }
}
