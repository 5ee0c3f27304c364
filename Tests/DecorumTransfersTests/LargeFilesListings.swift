import Decorum
import DecorumTransfers
import Foundation

/// The listings of the pages about transfers and of their symbols; those whose names meet are in functions of their own.
struct LargeFilesListings {
    /// Stands for the function of CryptoKit and of swift-crypto.
    struct SHA256 {
        mutating func update(data: Data) {}
        func finalize() -> Data { Data() }
        static func hash(data: Data) -> Data { data }
    }
    struct Page: Decodable, Sendable {}

    let connection: any Connection
    let network: any NetworkMonitor
    let request: Request
    let user: Principal
    let note: String
    let file: URL
    let film: URL
    let support: URL

    func tasks() async throws -> (Page, Response) {
        let result = try await connection.download(.get("https://example.com/film.mp4"), to: file)
        print(result.length, result.check)

        let transfer = try connection.uploading(Body(contentsOf: film), to: request, by: TusUpload())
        transfer.start()

        try await connection.discardUpload(of: film, to: request)

        let call = connection.call(request)
        let page = try await call.value.decode(Page.self, upTo: 1 << 20)

        let response = try await connection.upload(Body(contentsOf: film), to: .post("https://example.com/films"))
        return (page, response)
    }

    func checksums(_ digest: Data) async throws -> (DownloadResult, Response) {
        let expected = ExpectedDigest(digest) { content in
            var hash = SHA256()
            for try await chunk in content { hash.update(data: chunk) }
            return hash.finalize()
        }
        let policy = DownloadPolicy(parallel: 4, digest: expected)
        let result = try await connection.download(request, to: file, policy: policy)

        let checksum = TusUpload.Checksum("sha256") { Data(SHA256.hash(data: $0)) }
        let upload = TusUpload(metadata: ["filename": "film.mp4"], checksum: checksum)
        let response = try await connection.upload(Body(contentsOf: film), to: request, by: upload)
        return (result, response)
    }

    func results() async throws -> (DownloadResult, Response) {
        let transfer = try connection.downloading(.get("https://example.com/film.mp4"), to: file)
        transfer.start()
        for await progress in transfer.progressUpdates() { print(progress.fraction ?? 0) }
        let result = try await transfer.value

        let request = try Request.put("https://bucket.s3.eu-west-1.amazonaws.com/film.mp4", body: .empty)
        let response = try await connection.upload(Body(contentsOf: film), to: request, by: S3MultipartUpload())
        return (result, response)
    }

    func resuming(use: (Data) -> Void) async throws {
        let connection = SystemConnection().retrying().resumingBodies()
        let response = try await connection.send(.get("https://example.com/log"))
        for try await chunk in response.body { use(chunk) }
    }

    func ofUser(show: (String?, Request?) -> Void) async throws {
        let queue = connection.transferQueue(in: support.appending(path: "Transfers"), for: user, network: network)
        queue.start()
        try await queue.addDownload(.get("https://example.com/film.mp4"), to: file, on: .inexpensive)
        for await transfers in queue.updates() { print(transfers.progress.fraction ?? 0) }

        let outbox = connection.outbox(in: support.appending(path: "Outbox"), for: user, network: network)
        outbox.start()
        let id = try await outbox.add(.post("https://api.example.com/notes", body: Body(json: note)))

        let result = try await outbox.result(of: id)
        if result?.state == .failed { show(result?.failure, try await outbox.request(of: id)) }

        let calls = CallSet()
        let call = connection.call(request, upTo: 1 << 20, in: calls)
        calls.cancelAll("the page was left")
        do { _ = try await call.value } catch is CancellationError { print(call.cancellationReason ?? "") }

        for place in [queue, outbox, calls] as [any SignsOut] { try await place.signOut(user) }
    }

    #if canImport(Darwin)
    func background(_ transfer: Transfer<DownloadResult>, _ films: any URLSessionDownloadDelegate, signedURL: URL) {
        transfer.pause()
        let configuration = URLSessionConfiguration.background(withIdentifier: "films")
        let session = URLSession(configuration: configuration, delegate: films, delegateQueue: nil)
        let task = session.downloadTask(with: URLRequest(url: signedURL))
        task.taskDescription = file.path
        task.resume()
    }
    #endif
}
