import Decorum
import DecorumTesting
import DecorumTransfers
import Foundation

extension Step {
    static let resumedDownload = Step(
        title: "A download is paused, the process ends, and the next one asks for the rest alone",
        look: "The line of progress, and the Range of the second request.",
        code: "let transfer = connection.downloading(.get(film), to: file)"
    ) { stage in
        let film = BytePattern.bytes(4 << 20)
        let fields: RawFields = ["ETag": #""1""#, "Content-Length": "\(film.count)"]
        stage.origin.route(.get, "/film", .serving(ServedContent(film, fields: [.eTag: #""1""#])))
        stage.origin.enqueue(.script(.head(.ok, fields), .trickle(film, by: 64 << 10, every: .milliseconds(20))))
        try await stage.withFolder { folder in
            let (file, request) = (folder.appending(path: "film.mp4"), try Request.get(stage.origin.url + "/film"))
            let tasks = TrackingSpawner()
            var transfer = stage.transport.downloading(request, to: file, spawner: tasks)
            transfer.start()
            await stage.show(transfer) { $0 >= 1 << 20 }
            transfer.pause()
            try await tasks.finished()
            stage.terminal.app("\(transfer.state), and the process ends; the part stays beside the file")
            transfer = stage.transport.downloading(request, to: file)
            let result = try await transfer.value
            await stage.show(transfer) { _ in false }
            stage.terminal.app("\(result.length) bytes, checked by their \(result.check)")
            let isWhole = try Data(contentsOf: file) == film
            try stage.check(isWhole && result.restarts.isEmpty, "the two parts are one film")
            let range = stage.origin.requests.last?.fields["Range"]
            try stage.check(range?.hasPrefix("bytes=1") == true, "the first part did not come twice")
        }
    }

    static let resumedUpload = Step(
        title: "An upload breaks off, the process ends, and the next one asks how much the server has",
        look: "The HEAD, which asks for the offset, and the size of the second PATCH, which carries the rest alone.",
        code: "try await connection.upload(Body(contentsOf: film), to: .post(films), by: TusUpload())"
    ) { stage in
        let (content, stored) = (BytePattern.bytes(4 << 20), 1 << 20)
        let offset: RawFields = ["Upload-Offset": "\(stored)", "Upload-Length": "\(content.count)"]
        stage.origin.enqueue(.init(.created, fields: ["Location": "/films/1"]))
        // The connection is lost when the server has stored a quarter.
        stage.origin.enqueue(.script(.receive(atLeast: Int64(stored)), .close), answering: .afterHead)
        stage.origin.route(.head, "/films/1", .init(fields: offset))
        stage.origin.route(.patch, "/films/1", .init(.noContent, fields: ["Upload-Offset": "\(content.count)"]))
        try await stage.withFolder { folder in
            let film = folder.appending(path: "film.mp4")
            try content.write(to: film)
            let (connection, request) = (stage.transport, try Request.post(stage.origin.url + "/films"))
            let policy = UploadPolicy(resumption: ResumptionPolicy(attempts: 0))
            _ = await stage.error {
                _ = try await connection.upload(Body(contentsOf: film), to: request, by: TusUpload(), policy: policy)
            }
            stage.terminal.app("the process ends; the next one uploads the same file to the same place")
            _ = try await connection.upload(Body(contentsOf: film), to: request, by: TusUpload())
            let rest = stage.origin.requests.last?.bodyLength ?? 0
            stage.terminal.app("the rest had \(rest >> 10) KiB of \(content.count >> 10)")
            try stage.check(Int(rest) == content.count - stored, "no byte that was stored went twice")
        }
    }

    static let outbox = Step(
        title: "Two notes are written without a network, kept on the disk, and sent once it is back",
        look: "The states before and after, and the key by which the server knows a note that comes twice.",
        code: "let id = try await outbox.add(.post(notes, body: Body(json: note)))"
    ) { stage in
        let network = SettableNetwork(.unreachable)
        stage.origin.route(.post, "/notes", .init(.created))
        stage.origin.forgetRequests()
        try await stage.withFolder { folder in
            let outbox = stage.transport.outbox(in: folder.appending(path: "Outbox"), network: network)
            outbox.start()
            for note in ["Monday", "Tuesday"] {
                try await outbox.add(.post(stage.origin.url + "/notes", body: Body(json: note)))
            }
            stage.terminal.app("\(try await outbox.entries().map(\.state.rawValue)); the network comes back")
            try stage.check(stage.origin.requests.isEmpty, "nothing was sent")
            network.set(.reachable)
            for await entries in outbox.updates() where entries.allSatisfy({ $0.state == .finished }) { break }
            stage.terminal.app("\(try await outbox.entries().map(\.state.rawValue))")
            let keys = stage.origin.requests.compactMap { $0.fields["Idempotency-Key"] }
            for key in keys { stage.terminal.app("Idempotency-Key: \(key)") }
            try stage.check(keys.count == 2 && Set(keys).count == 2, "each note was sent once, with a key of its own")
            await outbox.stop()
        }
    }
}

extension Stage {
    /// Prints a line for each progress, until its bytes are enough.
    fileprivate func show(_ transfer: Transfer<DownloadResult>, until isEnough: (Int64) -> Bool) async {
        for await progress in transfer.progressUpdates() {
            let bar = String(repeating: "█", count: Int((progress.fraction ?? 0) * 32))
            let rate = progress.rate.map { ", \(Int($0) >> 10) KiB/s" } ?? ""
            terminal.app(bar.padding(toLength: 32, withPad: "·", startingAt: 0) + " \(progress.state)\(rate)")
            if isEnough(progress.bytes) { break }
        }
    }

    /// Performs work with a folder that is removed at its end.
    fileprivate func withFolder(_ work: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "decorum-tour-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await work(folder)
    }
}
