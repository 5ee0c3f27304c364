import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTransfers

/// Downloads and resumed bodies over connections in memory, and what stands in the place of a part.
@Suite(.timeLimit(.minutes(3))) struct DownloadTests {
    private let folder = DownloadFolder()
    private let content = ServedContent(BytePattern.bytes(100_000), fields: [.eTag: #""a""#])
    private let stub: StubConnection
    private let request: Request
    private let never = DownloadPolicy(resumption: .init(attempts: 0))
    private var part: URL { folder.url.appending(path: ".film.mp4.part") }
    private var record: URL { folder.url.appending(path: ".film.mp4.part.json") }
    private var ranges: [String?] { stub.requests.map { $0.head.headerFields[.range] } }

    init() throws {
        stub = StubConnection(serving: content)
        let fields: HTTPFields = [.authorization: "Bearer s3cret-bearer"]
        request = try .get("https://example.com/film.mp4?signature=s3cret6789abcdef0123", fields: fields)
    }

    private func download(
        over connection: (any Connection)? = nil, cutAfter counts: [Int] = [], policy: DownloadPolicy = .standard,
        _ request: Request? = nil
    ) async throws -> DownloadResult {
        try await (connection ?? stub).cutting(after: counts).downloading(
            request ?? self.request, to: folder.file, policy: policy, clock: ImpatientClock()
        ).value
    }

    @Test func `After breaks, the rest alone is asked for, and a private file appears complete`() async throws {
        let result = try await download(cutAfter: [30_000, 0, 20_000])
        #expect(result == .init(file: folder.file, length: 100_000, check: .length, contentCoding: nil, restarts: []))
        #expect(try folder.content == content.data && folder.names == ["film.mp4"])
        #expect(try folder.mode(of: "film.mp4") == 0o600)
        #expect(ranges == [nil, "bytes=30000-", "bytes=30000-", "bytes=50000-"])
        let fields = stub.requests.map(\.head.headerFields)
        #expect(fields.map { $0[.ifRange] } == [nil, #""a""#, #""a""#, #""a""#])
        #expect(fields.allSatisfy { $0[.acceptEncoding] == "identity" })
        // A file that is replaced gives its permissions; an empty content is a file, too.
        unsafe chmod(folder.file.path, 0o644)
        let empty = StubConnection(serving: ServedContent(""))
        #expect(try await download(over: empty, policy: DownloadPolicy(parallel: 4)).length == 0)
        #expect(try folder.content.isEmpty && folder.mode(of: "film.mp4") == 0o644)
    }

    @Test func `What has arrived survives a failure, shows no secret and no user, and can be removed`() async throws {
        var request = request
        request.options.principal = Principal("user-4711")
        request.options.secretQueryItems = ["signature"]
        // A byte begins the count of the attempts anew.
        let policy = DownloadPolicy(resumption: .init(attempts: 3))
        let cut = stub.cutting(after: [10, 0, 0, 10, 0, 0, 0, 0])
        await #expect(throws: TransportError.self) { try await download(over: cut, policy: policy, request) }
        #expect(stub.requests.count == 7 && folder.names == [".film.mp4.part", ".film.mp4.part.json"])
        for name in folder.names { #expect(try folder.mode(of: name) == 0o600) }
        let text = try String(contentsOf: record, encoding: .utf8)
        #expect(text.contains("example.com") && text.contains(#"\"a\""#))
        for secret in ["s3cret", "4711", "film.mp4"] { #expect(!text.contains(secret)) }

        // Neither a status without content nor an error that does not pass is worth a second attempt.
        let missing = StubConnection { _ in Response(status: .notFound) }
        await #expect(throws: StatusError.self) { try await download(over: missing, request) }
        let refusing = StubConnection { _ in throw TransportError(.tls, at: .connecting) }
        await #expect(throws: TransportError.self) { try await download(over: refusing, request) }
        #expect(refusing.requests.count == 1 && missing.requests.count == 1)

        // Another request removes nothing, and the same one, whose signature the app declares, goes on when signed anew.
        try await stub.discardDownload(of: .get("https://example.com/other"), to: folder.file)
        request.head.path = "/film.mp4?signature=fedcba9876543210abcd"
        await #expect(throws: TransportError.self) { try await download(cutAfter: [5], policy: never, request) }
        #expect(ranges.last == "bytes=20-")
        try Data().write(to: part.appendingPathExtension("aside"))
        try await stub.discardDownload(of: request, to: folder.file)
        #expect(folder.names.isEmpty)

        // Without a signature, its record is found by what the queue has noted.
        request.options.transferTarget = "https://example.com/REDACTED"
        let noted = TransferIdentity(request)
        request.head.path = "/other"
        #expect(TransferIdentity(request) == noted && TransferIdentity(self.request) != noted)
    }

    @Test func `A download to a folder can be discarded before its file has a name`() async throws {
        await #expect(throws: TransportError.self) {
            try await stub.cutting(after: [10]).download(request, to: folder.url, policy: never) { _ in "film.mp4" }
        }
        #expect(folder.names.count == 2)
        try await stub.discardDownload(of: request, to: folder.url)
        #expect(folder.names.isEmpty)
    }

    @Test func `At the deadline of the caller, it ends`() async throws {
        let stub = StubConnection { _ in throw TransportError(.deadlineExceeded, at: .head) }
        var request = request
        for count in [5, 6] {
            await #expect(throws: TransportError.self) { try await download(over: stub, request) }
            #expect(stub.requests.count == count)
            request.options.deadline = .now - .seconds(3600)
        }
    }

    @Test func `A server that never lets it end is given up, also before the first byte was kept`() async throws {
        let number = Numbers()
        let changing = StubConnection { request in
            ServedContent(BytePattern.bytes(1000), fields: [.eTag: "\"\(number.next())\""]).response(to: request.head)
        }
        let longer = StubConnection { _ in
            let body = Body(length: nil, replay: .once) { _ in RandomReader(rest: Data("content".utf8)) }
            return Response(status: .ok, fields: [.contentLength: "3"], body: body)
        }
        for connection in [changing.cutting(after: Array(repeating: 10, count: 7)), longer] {
            await #expect(throws: DownloadError(.tooManyRestarts)) { try await download(over: connection) }
            #expect(folder.names.isEmpty)
        }
        #expect(changing.requests.count == 7 && longer.requests.count == 6)
    }

    @Test func `A part of the largest length does not end the process`() async throws {
        let stub = StubConnection { request in
            guard request.head.headerFields[.range] == "bytes=0-262143" else { return Response(status: .notFound) }
            return Response(
                status: .partialContent, fields: [.eTag: #""a""#, .contentRange: "bytes 0-0/\(Int64.max)"], body: "a")
        }
        await #expect(throws: StatusError.self) { try await download(over: stub, policy: DownloadPolicy(parallel: 2)) }
    }

    @Test func `The result says what was checked, and in which coding the content came`() async throws {
        func policy(_ expected: Data) -> DownloadPolicy {
            .init(digest: ExpectedDigest(expected) { try await $0.data(upTo: 100_000) })
        }
        // The digest also covers what an earlier run has brought.
        #expect(try await download(cutAfter: [60_000], policy: policy(content.data)).check == .digest)
        await #expect(throws: DownloadError(.wrongDigest)) { try await download(policy: policy(Data([1]))) }
        // The bytes are of no use, and those that were there stay.
        #expect(try folder.content == content.data && folder.names == ["film.mp4"])

        // Coded content is saved as it came, and is not continued.
        let coded = StubConnection { [content] _ in
            let body = Body(length: nil, replay: .once) { _ in RandomReader(rest: content.data) }
            return Response(status: .ok, fields: [.eTag: #""z""#, .contentEncoding: "gzip"], body: body)
        }
        let other = try await download(over: coded.decompressing(), cutAfter: [1000])
        #expect(try folder.content == content.data && other.check == .end)
        #expect(other.contentCoding == "gzip" && other.restarts == [.noValidator])
    }

    @Test func `Parallel ranges arrive in one part, and each goes on after its own breaks`() async throws {
        let content = ServedContent(BytePattern.bytes(6 << 20), fields: [.eTag: #""a""#])
        let stub = StubConnection(serving: content)
        let once = DownloadPolicy(parallel: 4, resumption: .init(attempts: 0))
        await #expect(throws: TransportError.self) {
            try await download(over: stub, cutAfter: [1 << 20, 600_000, 400_000, 300_000, 300_000], policy: once)
        }
        #expect(try #require(RecordForm.decode(DownloadRecord.self, from: Data(contentsOf: record))).arrived > 500_000)
        // A later process goes on with all ranges.
        let cut = stub.cutting(after: [1000, 500_000, 0, 300_000])
        let result = try await download(over: cut, policy: DownloadPolicy(parallel: 4))
        #expect(try folder.content == content.data && folder.names == ["film.mp4"])
        #expect(result.restarts.isEmpty && result.check == .length)
        let asked = stub.requests.map { $0.head.headerFields[.range] }
        #expect(asked.first == "bytes=0-262143" && Set(asked).count >= 8)
        #expect(asked.count { $0 == "bytes=0-262143" || $0 == nil } == 1)
    }

    @Test func `A name from the answer leads to no other place, and a symbolic link is replaced`() async throws {
        let file = folder.file
        let result = try await stub.cutting(after: [50_000]).downloading(
            request, to: folder.url, clock: ImpatientClock(), named: { $0.metadata.url?.lastPathComponent ?? "" }
        ).value
        #expect(try result.file == file && folder.content == content.data && folder.names == ["film.mp4"])
        for name in ["film.mp4", "", "..", "../film", "a\0b", String(repeating: "n", count: 256)] {
            await #expect(throws: DownloadError(name == "film.mp4" ? .fileExists : .unsafeName)) {
                try await stub.download(request, to: folder.url) { _ in name }
            }
        }
        #expect(folder.names == ["film.mp4"])
        let link = folder.url.appending(path: "link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        _ = try await StubConnection(serving: ServedContent("new")).download(request, to: link)
        #expect(try folder.content == content.data && Data(contentsOf: link) == Data("new".utf8))

        // One that appears in the meantime stays.
        try FileManager.default.removeItem(at: file)
        let slow = StubConnection { [content] _ in
            Response(status: .ok, body: Body(content.data).observed { _ in try? Data("other".utf8).write(to: file) })
        }
        await #expect(throws: DownloadError(.fileExists)) {
            try await slow.download(request, to: folder.url) { _ in "film.mp4" }
        }
        #expect(try folder.content == Data("other".utf8))
    }

    @Test func `Unsuitable requests and places are refused, and a long name is not`() async throws {
        for name in [nil, .range, .ifMatch] as [HTTPField.Name?] {
            var request = request
            if let name { request.head.headerFields[name] = "x" } else { request.head.method = .post }
            await #expect(throws: DownloadError(.unsuitableRequest)) { try await download(request) }
        }
        let file = folder.url.appending(path: String(repeating: "n", count: 250))
        let inner = file.appending(path: "film.mp4")
        await #expect(throws: DownloadError(.system(ENOENT))) { try await stub.download(request, to: inner) }
        await #expect(throws: DownloadError(.fileExists)) { try await stub.download(request, to: folder.url) }
        #expect(stub.requests.isEmpty)
        _ = try await stub.download(request, to: file)
        #expect(folder.names == [file.lastPathComponent])
        for code in [ENOSPC, EDQUOT] { #expect(DownloadError(errno: code).reason == .fullDisk) }
    }

    @Test func `A wait is shown, a pause keeps what has arrived, and a restart throws it away`() async throws {
        try Data("damaged".utf8).write(to: part)
        let clock = VirtualClock()
        let cut = stub.cutting(after: [60_000, 100_000, 30_000])
        let transfer = cut.downloading(request, to: folder.file, clock: clock)
        transfer.start()
        try await clock.waitForSleepers()
        #expect(transfer.state == .waiting && transfer.progress.waitsFor == "another attempt")
        transfer.pause()
        #expect(transfer.progress.bytes == 60_000 && transfer.progress.length == 100_000)
        transfer.resume()
        // What was found before the pause is told after it.
        #expect(try await transfer.value.restarts == [.unusablePart])
        #expect(try folder.content == content.data && transfer.progress.fraction == 1)

        transfer.restart()
        try await clock.waitForSleepers()
        transfer.restart()
        #expect(try await transfer.value.restarts.isEmpty && clock.pendingSleeps.isEmpty)
        #expect(try ranges == [nil, "bytes=60000-", nil, nil] && folder.content == content.data)
    }

    /// Leaves what has arrived before and the first bytes of another answer.
    private func leavePart(after count: Int = 60_000) async {
        await #expect(throws: TransportError.self) { try await download(cutAfter: [count], policy: never) }
    }

    #if os(macOS) || os(Linux)
    // The superuser alone can give a file to another user.
    @Test(arguments: [
        "another URL", "another token", "another user", "another stack", "rm part.json",
        "echo damaged > part.json", "head -c 100001 /dev/zero > part",
        "chown 4711 part || chmod 644 part", "rm part && mkdir part", "mv part outside && ln -s outside part",
    ])
    func `A part that cannot be trusted is set aside, and what a link leads to stays`(change: String) async throws {
        await leavePart()
        var (request, connection) = (request, stub as any Connection)
        switch change {
        case "another URL": request = try .get("https://example.org/film.mp4")
        case "another token": request.head.path = "/film.mp4?signature=fedcba9876543210abcd"
        case "another stack": connection = stub.acting(for: Principal("another"))
        case "another user": request.options.principal = Principal("another")
        default:
            let script = change.replacing("part", with: ".film.mp4.part")
            _ = try await RunningScript.output(of: "cd \(RunningScript.quoted(folder.url.path)) && { \(script); }")
        }
        #expect(
            try await download(over: connection, request).restarts == [.unusablePart] && folder.content == content.data)
        let outside = change.contains("outside") ? ["outside"] : []
        #expect(ranges == [nil, nil] && folder.names == ["film.mp4"] + outside)
        for name in outside {
            #expect(try Data(contentsOf: folder.url.appending(path: name)) == content.data.prefix(60_000))
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only the superuser can mount a small disk"))
    func `A full or read-only disk keeps what has arrived, and the download goes on later`() async throws {
        let disk = folder.url.appending(path: "disk")
        try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: false)
        let place = RunningScript.quoted(disk.path)
        guard (try? await RunningScript.output(of: "mount -t tmpfs -o size=64k tmpfs \(place)")) != nil else { return }
        let file = disk.appending(path: "film.mp4")
        await #expect(throws: DownloadError(.fullDisk)) {
            try await stub.cutting(after: [40_000]).downloading(request, to: file, clock: ImpatientClock()).value
        }
        #expect(!FileManager.default.fileExists(atPath: file.path))
        _ = try await RunningScript.output(of: "mount -o remount,ro \(place)")
        await #expect(throws: DownloadError(.system(EROFS))) { try await stub.download(request, to: file) }
        _ = try await RunningScript.output(of: "mount -o remount,rw,size=1m \(place)")
        _ = try await stub.download(request, to: file)
        #expect(try Data(contentsOf: file) == content.data && ranges.last != nil)
        _ = try await RunningScript.output(of: "umount \(place)")
    }
    #endif

    @Test func `After the machine was started anew, only what was written for certain counts`() async throws {
        await leavePart()
        // The length of a tail may survive a loss of power without its bytes.
        unsafe truncate(part.path, 70_000)
        var saved = try #require(RecordForm.decode(DownloadRecord.self, from: Data(contentsOf: record)))
        #expect(saved.fitted(toPartOf: 70_000)?.arrived == 70_000)
        saved.boot -= 3600
        try RecordForm.encode(saved).write(to: record)
        // Nor does it count for those who come later.
        await leavePart(after: 0)
        #expect(try Data(contentsOf: part).count == 60_000)
    }

    @Test func `Segments that overlap, lie or are longer than the part are no record`() {
        let rows: [(segments: [(start: Int64, next: Int64)], arrived: Int64?)] = [
            ([(0, 10), (50, 60)], 20), ([(0, 0)], 60), ([(1, 1)], nil), ([(0, 60), (50, 50)], nil),
            ([(0, 0), (50, 40)], nil), ([(0, 0), (50, .max)], nil), ([(0, 10), (50, 61)], nil),
        ]
        for (segments, arrived) in rows {
            let record = DownloadRecord(
                identity: TransferIdentity(request), content: DownloadContent(length: 100),
                segments: segments.map { .init(start: $0.start, next: $0.next) })
            #expect(record.fitted(toPartOf: 60)?.arrived == arrived, "\(segments)")
        }
    }

    @Test func `Two downloads to one file do not meet, and a lost part does not become it`() async throws {
        func open() throws -> DownloadPart {
            try DownloadPart(of: folder.file, for: TransferIdentity(request), afresh: false)
        }
        let first = try open()
        await #expect(throws: DownloadError(.inUse)) { try await stub.download(request, to: folder.file) }
        try FileManager.default.removeItem(at: part)
        let second = try open()
        #expect(throws: DownloadError(.inUse)) { try first.move(to: folder.file, replacing: true) }
        first.save()
        #expect(folder.names == [".film.mp4.part"])
        second.save()
        #expect(folder.names.isEmpty)
    }

    @Test func `A body that breaks off continues in place, and only the metadata tell it`() async throws {
        let number = Numbers()
        // Neither a busy server nor an error on the way has the coding of the content.
        let content = ServedContent(content.data, fields: [.eTag: #""a""#, .contentEncoding: "x-test"])
        let stub = StubConnection { request in
            switch number.next() {
            case 2: Response(status: .serviceUnavailable, fields: [.retryAfter: "5"])
            case 3: throw TransportError(.connectionRefused, at: .connecting)
            default: content.response(to: request.head)
            }
        }
        let cut = stub.cutting(after: [30_000, 0, 20_000])
        let response = try await cut.resumingBodies(clock: ImpatientClock()).send(request)
        #expect(response.body.length == 100_000 && response.metadata.bodyResumptions == 0)
        #expect(try await response.body.data(upTo: 100_000) == content.data)
        #expect(response.metadata.bodyResumptions == 3)
        let fields = stub.requests.dropFirst().map(\.head.headerFields)
        #expect(fields.map { $0[.range] } == Array(repeating: "bytes=30000-", count: 4) + ["bytes=50000-"])
        #expect(fields.allSatisfy { $0[.ifRange] == #""a""# && $0[.authorization] != nil })
    }

    @Test func `The failure stays where nothing gives the rest of the same content, and at a deadline`() async throws {
        var (ranged, post) = (request, request)
        ranged.head.headerFields[.range] = "bytes=0-50000"
        post.head.method = .post
        let weak = ServedContent(content.data, fields: [.eTag: #"W/"a""#])
        let other = ServedContent(content.data, fields: [.eTag: #""b""#])
        let rows: [(Request, ServedContent, later: ServedContent?, TransportError.Code, count: Int)] = [
            (request, weak, weak, .connectionLost, 1), (ranged, content, content, .connectionLost, 1),
            (post, content, content, .connectionLost, 1), (request, content, content, .deadlineExceeded, 1),
            (request, content, other, .connectionLost, 2), (request, content, nil, .connectionLost, 6),
        ]
        for (request, first, later, code, count) in rows {
            let number = Numbers()
            let stub = StubConnection { request in
                guard let content = number.next() == 1 ? first : later else {
                    throw TransportError(.connectionRefused, at: .connecting)
                }
                return content.response(to: request.head)
            }
            let cut = stub.cutting(after: [1000], by: TransportError(code, at: .body))
            let body = try await cut.resumingBodies(clock: ImpatientClock()).send(request).body
            let error = await #expect(throws: TransportError.self) { try await body.data(upTo: 100_000) }
            #expect(error?.code == code && error?.stage == .body && stub.requests.count == count)
        }
    }

    @Test(
        arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "Only a body that breaks off is continued."))
    func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        let path = DecoratorLaw.ActivePath("a body that can be continued", adding: [.range, .ifRange]) { request, _ in
            ServedContent("0123456789", fields: [.eTag: #""a""#]).response(to: request)
        }
        try await law.check(answering: [path]) { base, conditions in base.resumingBodies(clock: conditions.clock) }
    }

    @Test func `The layer says how often it sends, and how long it waits`() {
        let layer = StubConnection().resumingBodies().layers[0]
        #expect(layer.facts.isSuperset(of: [.resends, .waits, .changesSignedParts]) && layer.sending.times == 1...6)
        #expect(layer.time.waiting == .atMost(.seconds(400)))
    }
}
