import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTransfers

/// Downloads over sockets, and from servers in memory that do anything, while the time passes at once.
@Suite(.timeLimit(.minutes(10))) struct DownloadServerTests {
    private let folder = DownloadFolder()
    private let connection = SystemConnection()

    @Test(arguments: 0..<(Footprint.isSoak ? 100 : 20))
    func `Whatever a server does, the file is one of its versions as a whole`(hundred: UInt64) async throws {
        for seed in hundred * 100..<(hundred + 1) * 100 {
            let server = RandomServer(seed: seed)
            let request = try Request.get("https://example.com/film")
            var result: DownloadResult?
            // Each round is one process: some end after the first break.
            for _ in 0..<20 where result == nil {
                let attempts = server.number(upTo: 2) * 20
                var policy = DownloadPolicy(parallel: seed % 2 == 0 ? 1 : 3, resumption: .init(attempts: attempts))
                policy.firstRange = 300
                do {
                    result = try await StubConnection { try await server.answer(to: $0) }.downloading(
                        request, to: folder.file, policy: policy, clock: server.clock, generator: server.generator
                    ).value
                } catch {
                    let isExpected = error is TransportError || error is StatusError || error is BodyLengthError
                    #expect(isExpected || error as? DownloadError == .init(.tooManyRestarts), "\(seed): \(error)")
                    #expect(!folder.names.contains("film.mp4"), "\(seed)")
                }
            }
            #expect(try folder.content == server.content.data, "\(seed)")
            #expect(result?.length == Int64(server.content.data.count) && folder.names == ["film.mp4"], "\(seed)")
            try FileManager.default.removeItem(at: folder.file)
        }
    }

    @Test func `A pause stops the bytes at the origin within a second`() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.route(.get, "/film", .generated(count: 1 << 32))
        let transfer = try connection.downloading(.get(origin.url + "/film"), to: folder.file)
        transfer.start()
        for await progress in transfer.progressUpdates() where progress.bytes > 0 { break }
        let start = ContinuousClock.now
        transfer.pause()
        try await origin.waitForOpenConnections(0)
        #expect(ContinuousClock.now - start < .seconds(1))
        #expect(transfer.state == .paused && transfer.progress.bytes > 0)
        let part = try Data(contentsOf: folder.url.appending(path: ".film.mp4.part"))
        #expect(part.count >= transfer.progress.bytes)
    }

    @Test(.enabled(if: SecureServer.nginxPath != nil, "nginx is not installed"))
    func `nginx serves ranges, changed files, whole files and coded ones`() async throws {
        let (server, port) = try await SecureServer.nginx { port in
            [
                "nginx.conf": """
                daemon off; master_process off; pid nginx.pid; error_log error.log; events {}
                http {
                    access_log access.log; client_body_temp_path body; proxy_temp_path proxy;
                    fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                    server {
                        listen 127.0.0.1:\(port);
                        location /plain/ { alias ./files/; }
                        location /whole/ { alias ./files/; max_ranges 0; }
                        location /coded/ { alias ./files/; gzip on; gzip_types *; gzip_min_length 1; }
                    }
                }

                """
            ]
        }
        let film = server.folder.appending(path: "files/film.mp4")
        try FileManager.default.createDirectory(at: film.deletingLastPathComponent(), withIntermediateDirectories: true)
        let (old, new) = (BytePattern.bytes(3 << 20), BytePattern.bytes(2_500_000, at: 7))
        // Also with a file that changes between two processes, without `Accept-Ranges`, and with gzip on, which codes nothing
        // for a client that asks for no coding.
        let rows: [(place: String, later: Data, parallel: Int, restarts: [DownloadRestart])] = [
            ("plain", old, 1, []), ("plain", old, 4, []), ("plain", new, 4, [.changed]),
            ("whole", old, 1, [.rangeIgnored]), ("coded", old, 1, []),
        ]
        for (place, later, parallel, restarts) in rows {
            let request = try Request.get("http://127.0.0.1:\(port)/\(place)/film.mp4")
            var policy = DownloadPolicy(parallel: parallel, resumption: .init(attempts: 0))
            try old.write(to: film)
            let cut = connection.cutting(after: [1_000_000, 1000])
            await #expect(throws: TransportError.self) {
                try await cut.download(request, to: folder.file, policy: policy)
            }
            if later != old { try later.write(to: film) }
            policy.resumption = .standard
            let result = try await connection.decompressing().download(request, to: folder.file, policy: policy)
            #expect(try folder.content == later && result.restarts == restarts, "\(place), \(parallel) at once")
            #expect(result.check == .length && result.contentCoding == nil)
        }
    }
}

#if os(macOS) || os(Linux)
extension ProcessTests {
    @Suite(.timeLimit(.minutes(30))) struct DownloadTests {
        private static let length = 64 << 20

        @Test func `A killed download goes on to the same file, and reads little twice`() async throws {
            let (origin, folder) = (try LoopbackOrigin(), DownloadFolder())
            defer { origin.stop() }
            let content = ServedContent(BytePattern.bytes(Self.length), fields: [.eTag: #""a""#])
            origin.route(.get, "/film") { request in
                let response = content.response(to: request.head)
                // 20 MiB a second.
                return .script(
                    .head(response.status, RawFields(response.head.headerFields)),
                    .trickle(response.body.bytes ?? Data(), by: 256 << 10, every: .microseconds(12_500)))
            }
            let kills = Footprint.isSoak ? 50 : 3
            let (url, path) = (origin.url + "/film", folder.url.path)
            let generator = SeededGenerator(seed: 1)
            for number in 0..<kills {
                // Evenly over the whole, at random places.
                let place = Self.length / kills * number + Int(generator.next() % UInt64(Self.length / kills))
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [url = url as String, path = path as String, place = place as Int] in
                    ProcessTests.begin()
                    try await Self.download(url, into: path, killedAfter: place)
                }
            }
            #expect(folder.names.contains(".film.mp4.part"))
            await #expect(processExitsWith: .success) { [url = url as String, path = path as String] in
                ProcessTests.begin()
                try await Self.download(url, into: path, killedAfter: .max)
            }
            #expect(try BytePattern.matches(folder.content) && folder.content.count == Self.length)
            let data = try Data(contentsOf: folder.url.appending(path: "count"))
            let read = unsafe data.withUnsafeBytes { unsafe $0.loadUnaligned(as: Int.self) }
            #expect(read >= Self.length && Double(read) <= 1.1 * Double(Self.length), "\(read)")
            #expect(origin.requests.count == kills + 1)
        }

        /// Downloads, counts all bytes that are read in a file, and kills the process soon after so many of them.
        private static func download(_ url: String, into path: String, killedAfter place: Int) async throws {
            let counter = unsafe open(path + "/count", O_RDWR | O_CREAT, 0o600)
            let connection = SystemConnection().intercepting { request, base in
                var response = try await base.send(request)
                response.body = response.body.observed { event in
                    guard case .chunk(let chunk) = event else { return }
                    var count = 0
                    unsafe pread(counter, &count, MemoryLayout<Int>.size, 0)
                    count += chunk.count
                    unsafe pwrite(counter, &count, MemoryLayout<Int>.size, 0)
                    guard count >= place else { return }
                    Thread.detachNewThread {
                        usleep(.random(in: 0..<2000))
                        kill(getpid(), SIGKILL)
                    }
                }
                return response
            }
            let result = try await connection.download(.get(url), to: URL(filePath: path + "/film.mp4"))
            guard result.restarts.isEmpty else { throw CocoaError(.fileReadCorruptFile) }
        }

        @Test func `A large download takes little memory`() async throws {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin(limit: 3)
                let (origin, folder) = (try LoopbackOrigin(), DownloadFolder())
                let length: Int64 = Footprint.isSoak ? 4 << 30 : 256 << 20
                origin.route(.get, "/", .generated(count: length))
                _ = try await SystemConnection().download(.get(origin.url + "/"), to: folder.file)
                let before = ProcessMemory.peak
                let result = try await SystemConnection().download(.get(origin.url + "/"), to: folder.file)
                guard result.length == length, ProcessMemory.peak - before < 48 << 20 else { _exit(1) }
            }
        }
    }
}
#endif

/// A server that answers its first requests as its moods say, and all others well.
private final class RandomServer: Sendable {
    private enum Mood: CaseIterable {
        case refused, busy, cut, stalled, truncated, longer, untold, changed, changedPart
        case wholeToRange, limited, misnumbered, otherLength, unsatisfied, preconditionFailed
    }

    let clock = ImpatientClock()
    let generator: SeededGenerator
    private let versions: [ServedContent]
    private let state: Mutex<(moods: [Mood], version: Int)>

    init(seed: UInt64) {
        let generator = SeededGenerator(seed: seed)
        let weakness = generator.next() % 3 == 0 ? "W/" : ""
        versions = (0..<3).map { version in
            // No two versions have the same length.
            let count = 1 + Int(generator.next() % 700) * 3 + version
            return ServedContent(
                BytePattern.bytes(count, at: Int64(version * 1000 + 1)), fields: [.eTag: "\(weakness)\"\(version)\""])
        }
        let moods = (0..<generator.next() % 9).map { _ in Mood.allCases[Int(generator.next() % 15)] }
        state = Mutex((moods, 0))
        self.generator = generator
    }

    var content: ServedContent { versions[state.withLock { $0.version }] }

    func number(upTo end: Int) -> Int { Int(generator.next() % UInt64(end)) }

    func answer(to request: Request) async throws -> Response {
        let (mood, content) = state.withLock { state in
            let mood = state.moods.popLast()
            if mood == .changed || mood == .changedPart { state.version = min(state.version + 1, 2) }
            return (mood, versions[state.version])
        }
        var head = request.head
        let range = head.headerFields[.range]
        switch mood {
        case .refused: throw TransportError(.connectionRefused, at: .connecting)
        case .busy: return Response(status: .serviceUnavailable, fields: [.retryAfter: "5"])
        case .preconditionFailed where range != nil: return Response(status: .preconditionFailed)
        case .unsatisfied where range != nil:
            return Response(status: .rangeNotSatisfiable, fields: [.contentRange: "bytes */\(content.data.count)"])
        case .wholeToRange: head.headerFields[.range] = nil
        case .changedPart: head.headerFields[.ifRange] = nil
        case .misnumbered where range != nil: head.headerFields[.range] = "bytes=\(number(upTo: 300))-"
        case .limited: head.headerFields[.range]? += range?.last == "-" ? "\(content.data.count / 2)" : ""
        default: break
        }
        var response = content.response(to: head)
        var data = response.body.bytes ?? Data()
        if mood == .otherLength { response.head.headerFields[.contentRange]? += "0" }
        if mood == .untold, range == nil { response.head.headerFields[.contentLength] = nil }
        let length = mood == .untold || mood == .longer ? nil : Int64(data.count)
        if mood == .longer { data.append(0) }
        let isCut = mood == .cut || mood == .stalled
        if isCut || mood == .truncated { data = data.prefix(number(upTo: data.count + 1)) }
        let reader = RandomReader(
            rest: data, clock: mood == .stalled ? clock : nil,
            error: isCut ? TransportError(.connectionLost, at: .body) : nil)
        response.body = Body(length: length, replay: .once) { _ in reader }
        return response
    }
}

/// Gives up to 200 bytes at a time, and then its end, or an error at once or after a minute.
struct RandomReader: BodyReader {
    var rest: Data
    var clock: ImpatientClock?
    var error: TransportError?
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        let chunk = rest.prefix(200)
        rest = rest.dropFirst(200)
        guard chunk.isEmpty else { return Data(chunk) }
        try await clock?.sleep(for: .seconds(60))
        if let error { throw error }
        return nil
    }
}
