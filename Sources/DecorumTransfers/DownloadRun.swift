import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// A download, which any number of runs in any number of processes bring to its end.
final class Download: Sendable {
    /// A file; or a folder, and the function that gives the name in it.
    struct Destination: Sendable {
        let url: URL
        var name: (@Sendable (Response) -> String)?
        static func file(_ url: URL) -> Self { Self(url: url) }
    }

    private enum End: Error {
        /// The download may go on, after the time for which the server asks; a byte has arrived, or none.
        case broken(any Error, asked: Duration? = nil, hasMoved: Bool = false)
        /// What has arrived is of no use.
        case useless(DownloadRestart)
    }

    private let connection: any Connection
    private let request: Request
    private let destination: Destination
    private let policy: DownloadPolicy
    private let clock: any DatedClock
    private let generator: any RandomGenerator
    /// The reasons of all runs to begin anew, and how often this run had to.
    private let restarts = Mutex<(reasons: [DownloadRestart], count: Int)>(([], 0))

    init(
        _ connection: any Connection, _ request: Request, _ destination: Destination, _ policy: DownloadPolicy,
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator()
    ) {
        (self.connection, self.destination, self.policy) = (connection, destination, policy)
        (self.clock, self.generator) = (clock, generator)
        var request = request
        request.head.headerFields[.acceptEncoding] = "identity"
        request.options.keepsContentCoding = true
        // A status decides what comes next.
        request.options.acceptedStatuses = .all
        self.request = request
    }

    @concurrent func run(_ run: TransferRun) async throws -> DownloadResult {
        let names = request.head.headerFields.lazy.map(\.name.canonicalName)
        guard request.head.method == .get, !names.contains(where: { $0 == "range" || $0.hasPrefix("if-") }) else {
            throw DownloadError(.unsuitableRequest)
        }
        let (url, isNamed) = (destination.url, destination.name == nil)
        let identity = TransferIdentity(request, over: connection)
        let facts = try? FileManager.default.attributesOfItem(atPath: url.path)
        if isNamed, facts?[.type] as? FileAttributeType == .typeDirectory { throw DownloadError(.fileExists) }
        let part = try DownloadPart(of: isNamed ? url : identity.file(in: url), for: identity, afresh: run.isAfresh)
        defer { part.save() }
        restarts.withLock { $0 = (run.isAfresh ? [] : $0.reasons, 0) }
        if part.isInPlaceOfAnother { try beginAnew(because: .unusablePart) }
        var first = policy.parallel > 1 ? 0..<policy.firstRange : nil
        repeat {
            let missing = part.record.missing
            do {
                try await withThrowingTaskGroup(of: Void.self) { [first] group in
                    for index in missing.isEmpty ? [0] : missing {
                        group.addTask { try await self.fetch(index, of: part, in: run, first: first) }
                    }
                    try await group.waitForAll()
                }
            } catch End.useless(let reason) {
                let hasArrived = part.record.arrived > 0
                try part.begin(DownloadContent())
                try beginAnew(because: hasArrived ? reason : nil)
                first = nil
            }
        } while !part.record.missing.isEmpty
        if let digest = policy.digest, try await !digest.matches(Body(contentsOf: part.url)) {
            try part.begin(DownloadContent())
            throw DownloadError(.wrongDigest)
        }
        let record = part.record
        let file = isNamed ? url : try self.file(named: record.name ?? "")
        try part.move(to: file, replacing: isNamed)
        return DownloadResult(
            file: file, length: record.arrived,
            check: policy.digest != nil ? .digest : record.content.length == nil ? .end : .length,
            contentCoding: record.content.coding, restarts: restarts.withLock { $0.reasons })
    }

    private func file(named name: String) throws -> URL {
        guard !["", ".", ".."].contains(name), name.utf8.count <= 255, !name.utf8.contains(0), !name.utf8.contains(0x2F)
        else { throw DownloadError(.unsafeName) }
        return destination.url.appending(path: name, directoryHint: .notDirectory)
    }

    /// The name of the file in its folder; nil if the caller has named the file.
    private func name(after response: Response) throws -> String? {
        guard let name = destination.name?(response) else { return nil }
        if try file(named: name).isTaken { throw DownloadError(.fileExists) }
        return name
    }

    /// Notes a reason, unless nothing had arrived; throws if a server makes the download begin anew without an end.
    private func beginAnew(because reason: DownloadRestart?) throws {
        let count = restarts.withLock { restarts in
            if let reason { restarts.reasons.append(reason) }
            restarts.count += 1
            return restarts.count
        }
        guard count <= max(1, policy.resumption.attempts) else { throw DownloadError(.tooManyRestarts) }
    }

    /// Brings the bytes of a segment into the part, by as many requests as it takes.
    private func fetch(_ index: Int, of part: DownloadPart, in run: TransferRun, first: Range<Int64>?) async throws {
        var failures = 0
        repeat {
            do {
                try await attempt(index, of: part, in: run, first: first)
            } catch End.broken(let error, let asked, let hasMoved) {
                failures = hasMoved ? 0 : failures + 1
                guard request.options.timeLeft(at: clock.now) != .zero,
                    let wait = policy.resumption.wait(afterFailures: failures, asked: asked, using: generator)
                else { throw error }
                run.wait(for: "another attempt")
                try await clock.sleep(for: wait)
                run.wait(for: nil)
            }
        } while part.record.missing.contains(index)
    }

    private func attempt(_ index: Int, of part: DownloadPart, in run: TransferRun, first: Range<Int64>?) async throws {
        try Task.checkCancellation()
        let record = part.record
        let (segment, content) = (record.segments[index], record.content)
        var asked = first
        if record.segments.count > 1 {
            asked = segment.next..<(record.end(of: index) ?? .max)
        } else if segment.next > 0 {
            asked = content.validator == nil ? nil : segment.next..<Int64.max
        }
        var request = request
        if let asked { request.head.headerFields.ask(for: asked, of: content.validator) }
        let response: Response
        do {
            response = try await connection.send(run.prioritized(request))
        } catch let error as any TemporaryError where error.mayPass {
            throw End.broken(error, asked: error.askedWait(at: clock.now))
        }
        var (rest, hasMoved) = (Int64?.none, false)
        switch DownloadDecision.step(after: response, asking: asked, of: content, arrived: record.arrived) {
        case .begin(let content, let reason):
            // The other segments are under way.
            if record.segments.count > 1 { throw End.useless(reason ?? .rangeIgnored) }
            try part.begin(content, name: name(after: response))
            if let reason { try beginAnew(because: reason) }
            rest = content.length
        case .take(let bytes, let content):
            if record.arrived == 0, record.segments.count == 1 {
                try part.begin(content, segmentsAt: starts(after: bytes, of: content), name: name(after: response))
            } else {
                // The first answer may not have told the length.
                part.update { $0.content.length = content.length }
            }
            rest = Int64(bytes.count)
        case .complete:
            if record.name == nil, let name = try name(after: response) { try part.begin(content, name: name) }
            return part.update { $0.hasEnded = true }
        case .askAnew(let reason): throw End.useless(reason)
        case .wait:
            let asked = AskedWait.duration(in: response.head.headerFields, at: clock.date)
            throw End.broken(StatusError(response, to: request, at: clock.date), asked: asked)
        case .refuse: throw StatusError(response, to: request, at: clock.date)
        }
        // Within the lock, so that no byte of another range is told twice.
        part.update { run.begin(at: $0.arrived, of: $0.content.length) }
        do {
            var reader = try await response.body.open()
            while let chunk = try await reader.next() {
                try Task.checkCancellation()
                rest = rest.map { $0 - Int64(chunk.count) }
                // More than was told is of another content.
                guard rest ?? 0 >= 0 else { throw End.useless(.wrongRange) }
                try part.append(chunk, to: index, in: run)
                hasMoved = true
            }
            guard rest ?? 0 == 0 else { throw BodyLengthError() }
        } catch let error where !(error is CancellationError || error is DownloadError || error is End) {
            throw End.broken(error, hasMoved: hasMoved)
        }
        part.update { $0.hasEnded = $0.content.length == nil }
    }

    /// The offsets at which the segments begin, once the first range has shown the length.
    private func starts(after first: Range<Int64>, of content: DownloadContent) -> [Int64] {
        guard let length = content.length, first.upperBound < length, policy.parallel > 1 else { return [0] }
        let count = Int64(min(policy.parallel, 16))
        let size = max(policy.firstRange, (length - first.upperBound - 1) / count + 1)
        return [0] + stride(from: first.upperBound, to: length, by: Int(clamping: size))
    }
}

extension StatusError {
    init(_ response: Response, to request: Request, at date: Date) {
        self.init(
            method: request.head.method, origin: try? Origin(request.head), routeName: request.options.routeName,
            response: response, arrival: date)
    }
}
