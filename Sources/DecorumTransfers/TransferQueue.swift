public import Decorum
public import Foundation

extension Connection {
    /// Makes a queue of downloads and uploads, which is kept on the disk and goes on in later processes.
    ///
    /// ```swift
    /// let queue = connection.transferQueue(in: support.appending(path: "Transfers"), for: user, network: network)
    /// queue.start()
    /// try await queue.addDownload(.get("https://example.com/film.mp4"), to: file, on: .inexpensive)
    /// for await transfers in queue.updates() { print(transfers.progress.fraction ?? 0) }
    /// ```
    ///
    /// Of the transfers that wait, the one with the highest priority begins first, and of these the oldest; one that runs is
    /// not interrupted. After a failure that may pass, it is tried again, without end; after any other one, it stays as failed
    /// for two weeks, until it is resumed or cancelled. One that has just succeeded when the process ends may be carried out
    /// once more. At most 1,000 transfers wait, and `limit` of them, at least 1, run at the same time.
    ///
    /// Secrets, users and the folder are as with ``outbox(in:for:limits:network:redaction:clock:generator:spawner:url:)``.
    /// `uploads` is the protocol of uploads, which a later process finds by its name.
    public func transferQueue(
        in folder: URL, for principal: Principal? = nil, limit: Int = 3, network: (any NetworkMonitor)? = nil,
        uploads: any UploadProtocol = ResumableUpload(), redaction: Redaction = .standard,
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator(),
        spawner: any TaskSpawner = SystemSpawner(),
        url: (@Sendable (_ transfer: OutboxEntry) async throws -> URL)? = nil
    ) -> TransferQueue {
        let settings = EntrySender.Settings(
            connection: self, root: folder, principal: principal, limits: OutboxLimits(), places: max(1, limit),
            network: network, redaction: redaction, clock: clock, generator: generator, spawner: spawner,
            uploads: uploads, url: url)
        return TransferQueue(EntrySender(settings))
    }
}

/// Downloads and uploads that are carried out in order; `transferQueue(in:)` of a connection makes one.
///
/// One that nobody holds any longer stops. All functions throw `PrivateFileError` for a folder that cannot be read or written.
public final class TransferQueue: SignsOut {
    private let sender: EntrySender

    init(_ sender: EntrySender) { self.sender = sender }

    deinit { sender.halt() }

    /// Starts to transfer, or to wait for the end of another process that does.
    public func start() { sender.start() }

    /// Stops to transfer, and keeps what has arrived.
    public func stop() async { await sender.stop() }

    /// The error because of which nothing is transferred now, such as a folder that is not private; nil without one.
    public var error: (any Error)? { sender.error }

    /// Adds a download; once this returns, a crash does not lose it.
    ///
    /// The request is a `GET` without a range and without conditions, of which the head and the route name are kept. The file's
    /// folder exists; below the home of the app, it is found after the home has moved. The rest is as with an ``Outbox``.
    ///
    /// - Throws: ``DownloadError`` for an unsuitable request, ``OutboxError``, or `PrivateFileError`.
    @discardableResult @concurrent public func addDownload(
        _ request: Request, to file: URL, priority: TaskPriority = .medium, on network: TransferNetwork = .any,
        allowingSecrets: Bool = false
    ) async throws -> OutboxEntry.ID {
        guard request.head.method == .get else { throw DownloadError(.unsuitableRequest) }
        let job = EntryRecord.Job(file, nil, priority, network)
        return try await sender.add(request, lane: nil, allowingSecrets: allowingSecrets, job: job)
    }

    /// Adds an upload of a file, which stays as it is until the end; the rest is as with a download.
    @discardableResult @concurrent public func addUpload(
        of file: URL, to request: Request, priority: TaskPriority = .medium, on network: TransferNetwork = .any,
        allowingSecrets: Bool = false
    ) async throws -> OutboxEntry.ID {
        let job = EntryRecord.Job(file, sender.settings.uploads.name, priority, network)
        return try await sender.add(request, lane: nil, allowingSecrets: allowingSecrets, job: job)
    }

    /// All transfers in the order in which they were added, with what has ended in the last two weeks.
    public func transfers() async throws -> [OutboxEntry] {
        try await sender.look()
        return sender.updates.value
    }

    /// The transfers now, and then after each change, such as of the progress; a slow reader gets the newest.
    public func updates() -> AsyncStream<[OutboxEntry]> { sender.updates.stream() }

    /// Pauses a transfer, in later processes too; another process that transfers it stops within ten seconds.
    public func pause(_ id: OutboxEntry.ID) async throws { try await sender.setPaused(true, id) }

    /// Lets a transfer take its turn again after a pause or a failure.
    public func resume(_ id: OutboxEntry.ID) async throws { try await sender.setPaused(false, id) }

    /// Cancels a transfer that has not succeeded, removes what has arrived, and tells whether it was there.
    @discardableResult public func cancel(_ id: OutboxEntry.ID) async throws -> Bool { try await sender.cancel(id) }

    /// The files that were set aside, as of an ``Outbox``.
    @concurrent public func asideFiles() async throws -> [URL] { try await sender.asideFiles() }

    /// Removes all transfers of a user with what has arrived, also of another one than the queue acts for.
    public func signOut(_ principal: Principal) async throws { try await sender.remove(for: principal) }
}

/// The network that a transfer needs.
public enum TransferNetwork: String, Sendable, Codable {
    /// Any network.
    case any
    /// A network for whose data the user does not pay.
    case inexpensive
}

extension Sequence<OutboxEntry> {
    /// The sums of all but the cancelled ones, with a length if all are known; it runs, or else waits, while one does.
    public var progress: TransferProgress {
        let all = map(\.progress).filter { $0.state != .cancelled }
        let (lengths, rates) = (all.compactMap(\.length), all.compactMap(\.rate))
        var progress = TransferProgress()
        progress.bytes = all.reduce(0) { $0 + $1.bytes }
        // A server may tell any length.
        let length = lengths.reduce(0) { $0 + Swift.min(Swift.max(0, $1), .max - $0) }
        progress.length = lengths.count == all.count ? length : nil
        progress.rate = rates.isEmpty ? nil : rates.reduce(0, +)
        progress.attempts = all.reduce(0) { $0 + $1.attempts }
        let order: [TransferState] = [.running, .waiting, .paused, .failed, .finished]
        progress.state = order.first { state in all.contains { $0.state == state } } ?? .ready
        if progress.state == .waiting { progress.waitsFor = all.lazy.compactMap(\.waitsFor).first }
        return progress
    }
}
