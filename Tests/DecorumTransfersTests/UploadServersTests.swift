#if os(macOS) || os(Linux)
import Decorum
import DecorumSigning
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTransfers

/// Uploads over sockets to servers of other authors, and to one in Python that is written from the specifications.
@Suite(.timeLimit(.minutes(10))) struct UploadServersTests {
    private static let tusPython = Task {
        await PythonLibraries.interpreter(
            with: "aiohttp-tus==1.1.0", "tuspy==1.1.0", importing: "aiohttp_tus, tusclient")
    }
    private static let motoPython = Task {
        await PythonLibraries.interpreter(with: "moto[s3,iam,server]==5.2.5", importing: "moto.server, boto3")
    }

    private let transport = SystemConnection()
    private static let content = BytePattern.bytes(3_000_001)
    private let folder = DownloadFolder(content)

    @Test func `A pause stops the bytes at the server within a second, and a resumed transfer goes on from there`()
        async throws
    {
        let server = try await PythonServer("transfers/upload_server", "\(16 << 20)")
        let transfer = transport.uploading(Body(BytePattern.bytes(32 << 20)), to: try .post(server.url + "/draft"))
        transfer.start()
        while try await Facts.of(server).stored == 0 {}
        let start = ContinuousClock.now
        transfer.pause()
        while try await Facts.of(server).readers > 0 {}
        #expect(ContinuousClock.now - start < .seconds(1))
        transfer.resume()
        #expect(try await transfer.value.status == .ok)
        #expect(transfer.progress.bytes == 32 << 20 && transfer.progress.attempts == 2)
        #expect(try await Facts.of(server).stored == 32 << 20)
    }

    @Test func `Servers of the draft and of tus store what is cut, as tuspy sends it, and tell when an upload expires`()
        async throws
    {
        let server = try await PythonServer("transfers/upload_server")
        let (draft, tus) = (try Request.post(server.url + "/draft"), try Request.post(server.url + "/tus"))
        // A checksum that needs no cryptography; tuspy sends SHA-1.
        let checksum = TusUpload.Checksum("sum") { Data([$0.reduce(0, &+)]) }
        let checked = TusUpload(metadata: ["filename": "ä.bin"], partSize: 1 << 20, checksum: checksum)
        var digest = ""
        for seed in 0..<UInt64(Footprint.isSoak ? 100 : 5) {
            let content = Body(Self.content)
            // The answer is the digest, also if it was lost the first time.
            digest = try await transport.uploadThroughBreaks(content, to: draft, seed: seed).body.text(upTo: 100)
            _ = try await transport.uploadThroughBreaks(content, to: tus, by: TusUpload(), seed: seed)
            _ = try await transport.uploadThroughBreaks(content, to: tus, by: checked, seed: seed)
        }
        if let python = await Self.tusPython.value {
            let client = """
                from tusclient import client
                client.TusClient('\(server.url)/tus').uploader(
                    '\(folder.file.path)', chunk_size=1 << 20, upload_checksum=True, metadata={'filename': 'ä'}).upload()
                """
            let words = [python, "-c", client].map(RunningScript.quoted).joined(separator: " ")
            _ = try await RunningScript.output(of: words)
        }
        for upload in try await Facts.of(server).uploads {
            #expect(upload.length == Self.content.count && upload.digest == digest)
        }

        // A later process knows when the upload expires.
        try await transport.interruptUpload(of: folder.file, to: tus, by: checked)
        #expect(try String(contentsOf: #require(folder.others.first), encoding: .utf8).contains(#""expiry":"#))
    }

    @Test(.enabled("libraries of PyPI cannot be installed on this machine") { await tusPython.value != nil })
    func `aiohttp-tus creates, stores and terminates uploads`() async throws {
        let server = try await PythonServer("transfers/tus_server", with: Self.tusPython.value)
        let request = try Request.post(server.url + "/files")
        let tus = TusUpload(metadata: ["filename": "film.bin"], partSize: 1_000_000)
        #expect(try await transport.upload(Body(contentsOf: folder.file), to: request, by: tus).status == .noContent)
        #expect(try Data(contentsOf: server.folder.appending(path: "film.bin")) == Self.content)

        let other = TusUpload(metadata: ["filename": "other.bin"], partSize: 1_000_000)
        try await transport.interruptUpload(of: folder.file, to: request, by: other)
        try await transport.discardUpload(of: folder.file, to: request, by: other)
        #expect(folder.others.isEmpty)
    }

    #if Signing
    @Test(.enabled("libraries of PyPI cannot be installed on this machine") { await motoPython.value != nil })
    func `moto checks the signatures, and makes an object of the parts, also after breaks and a new process`()
        async throws
    {
        let server = try await PythonServer("signing/aws_verifier", "serve", with: Self.motoPython.value)
        // From now on the server checks signatures.
        _ = try await transport.send(.post(server.url + "/moto-api/reset-auth", body: Body("0")))
        let keys = try AWSCredentials(accessKeyID: server.words[1], secretAccessKey: server.words[2])
        let signer = SigV4(service: "s3", region: "us-east-1", credentials: keys)
        let connection = transport.authenticating(with: .signer(signer), for: try Origin(server.url))
        let (content, s3) = (BytePattern.bytes(12_000_000), S3MultipartUpload(partSize: 5 << 20))
        try content.write(to: folder.file)
        let request = try Request.put(server.url + "/bucket/a%20film.mp4", body: .empty)
        let file = try Body(contentsOf: folder.file)
        await #expect(throws: StatusError.self) { try await transport.upload(file, to: request, by: s3) }
        try await connection.interruptUpload(of: folder.file, to: request, by: s3)
        #expect(try await connection.uploadThroughBreaks(file, to: request, by: s3).status == .ok)
        let object = try await connection.send(.get(server.url + "/bucket/a%20film.mp4"))
        #expect(try await object.body.data(upTo: 20_000_000) == content)

        try await connection.interruptUpload(of: folder.file, to: request, by: s3)
        try await connection.discardUpload(of: folder.file, to: request, by: s3)
        let list = try await connection.send(.get(server.url + "/bucket?uploads"))
        #expect(try await !list.body.text(upTo: 10_000).contains("<Upload>"))
    }
    #endif
}

/// What the server that is written from the specifications has stored.
private struct Facts: Decodable {
    struct Upload: Decodable { let length: Int, digest: String }
    let uploads: [Upload], stored: Int, readers: Int

    static func of(_ server: PythonServer) async throws -> Facts {
        try await SystemConnection().send(.get(server.url + "/facts")).decode(Facts.self, upTo: 1 << 20)
    }
}

extension ProcessTests {
    /// Processes that are killed while they upload, and memory.
    @Suite(.timeLimit(.minutes(30))) struct UploadProcessTests {
        @Test func `An upload of 64 MiB survives kills at random places`() async throws {
            let length = 64 << 20
            let server = try await PythonServer("transfers/upload_server", "\(20 << 20)")
            let folder = DownloadFolder(BytePattern.bytes(length))
            let (path, url, kills) = (folder.file.path, server.url, Footprint.isSoak ? 50 : 5)
            for seed in 0..<kills {
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [path = path as String, url = url as String, seed = seed as Int, kills = kills as Int] in
                    ProcessTests.begin()
                    let life = SeededGenerator(seed: UInt64(seed)).next() % UInt64(5_000_000 / kills)
                    Thread.detachNewThread {
                        usleep(useconds_t(life))
                        kill(getpid(), SIGKILL)
                    }
                    _ = try await UploadProcessTests.upload(path, to: url)
                    // An upload that was faster is killed too.
                    while true { usleep(1_000) }
                }
            }
            _ = try await Self.upload(path, to: url)
            let facts = try await Facts.of(server)
            // A kill between the creation and its record leaves an upload without content at the server.
            let uploads = facts.uploads.filter { $0.length > 0 }
            #expect(uploads.map(\.length) == [length])
            let digest = try await RunningScript.output(of: "sha256sum \(path) || shasum -a 256 \(path)")
            #expect(String(decoding: digest, as: UTF8.self).hasPrefix(uploads.first?.digest ?? "-"))
            #expect(facts.stored <= length + length / 10 && folder.others.isEmpty)
        }

        static func upload(_ path: String, to url: String) async throws -> Response {
            try await SystemConnection().upload(Body(contentsOf: URL(filePath: path)), to: .post(url + "/draft"))
        }

        @Test func `A large upload takes little memory`() async throws {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let (count, folder) = (Footprint.isSoak ? 4 << 30 : 96 << 20, DownloadFolder(Data()))
                try FileHandle(forWritingTo: folder.file).truncate(atOffset: UInt64(count))
                let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
                origin.route(
                    .post, "/files", .init(.created, fields: ["Location": "/files/1", "Upload-Complete": "?0"]))
                origin.route(.patch, "/files/1", .init(fields: ["Upload-Complete": "?1"]))
                try await SystemConnection().send(.get(origin.url + "/")).body.drain(upTo: 1_000)
                let idle = ProcessMemory.peak
                let body = try Body(contentsOf: folder.file)
                #expect(try await SystemConnection().upload(body, to: .post(origin.url + "/files")).status == .ok)
                #expect(origin.requests.last?.bodyLength == Int64(count))
                #expect(ProcessMemory.peak - idle < 48 << 20)
            }
        }
    }
}
#endif
