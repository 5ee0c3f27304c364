import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// What this process knows of an entry.
struct EntryItem: Sendable {
    var record: EntryRecord
    var parts: EntryFolder.Parts = [:]
    /// When it was accepted, or has ended, by the clock that is never set.
    var since: ContinuousClock.Instant
    /// The instant of the last attempt, or at which this process has first seen the entry.
    var last: ContinuousClock.Instant
    var due: ContinuousClock.Instant?
    /// Whether the server has asked for the wait.
    var isAsked = false
    var attempts = 0
    var isRunning = false
    var failure: String?
    var waitsFor = "the start"
    let meter: TransferMeter

    var state: TransferState {
        record.result?.state ?? (record.job?.isPaused == true ? .paused : isRunning ? .running : .waiting)
    }

    /// Takes what stands on the disk; after a change by the app, it does not wait for what was before.
    mutating func take(_ record: EntryRecord, since: ContinuousClock.Instant) {
        (self.record, self.since, failure) = (record, since, record.result?.failure)
        if record.result == nil { (due, attempts) = (nil, 0) }
    }
}

/// Sends the entries of an outbox or a queue: it performs what ``EntryDecision`` decides.
actor EntrySender {
    typealias ID = OutboxEntry.ID

    struct Settings: Sendable {
        let connection: any Connection
        let root: URL
        let principal: Principal?
        let limits: OutboxLimits
        let places: Int
        let network: (any NetworkMonitor)?
        let redaction: Redaction
        let clock: any DatedClock
        let generator: any RandomGenerator
        let spawner: any TaskSpawner
        var uploads: any UploadProtocol = ResumableUpload()
        let url: (@Sendable (OutboxEntry) async throws -> URL)?
    }

    /// Whether the present task sends an entry, so that it cannot wait for its own end.
    @TaskLocal private static var isSending = false

    nonisolated let folder: EntryFolder
    nonisolated let updates = Updates<[OutboxEntry]>([])
    nonisolated var error: (any Error)? { lastError.withLock { $0 } }
    nonisolated let settings: Settings
    nonisolated private var clock: any DatedClock { settings.clock }
    nonisolated private var redaction: Redaction { settings.redaction }
    private let lastError = Mutex<(any Error)?>(nil)
    private let loop = Mutex<Task<Void, Never>?>(nil)
    /// The number of events after which there may be something to do.
    private let bell = Updates(0)
    private var items: [ID: EntryItem] = [:]
    private var tasks: [ID: Task<Void, Never>] = [:]

    init(_ settings: Settings) {
        self.settings = settings
        folder = EntryFolder(settings.root, of: settings.principal)
    }

    // MARK: - Changes by the app

    /// Throws unless all layers that name a user name the one of the entries, as one does where there are credentials.
    nonisolated private func checkPrincipal() throws {
        let (principal, naming) = (settings.principal, settings.connection.layersNamingUsers)
        let isOwn = naming.allSatisfy { principal != nil && $0.settings.contains { $0.principal == principal } }
        // Whose credentials are added when an entry is sent is not known without a user.
        let adding: Set<Layer.Fact> = [.addsCredentials, .changesUsers]
        let layers = settings.connection.layers.flatMap(\.passed)
        let isUnknown = naming.isEmpty && layers.contains { !$0.facts.isDisjoint(with: adding) }
        guard isOwn, !isUnknown else { throw OutboxError(.otherPrincipal) }
    }

    nonisolated func add(
        _ request: Request, lane: String?, allowingSecrets: Bool, job: EntryRecord.Job? = nil
    ) async throws -> ID {
        try checkPrincipal()
        let record = try EntryRecord(request, lane: lane, allowingSecrets: allowingSecrets, job: job, settings)
        let body = job != nil ? .empty : allowingSecrets ? request.body : try await searchedContent(of: request)
        let id = try await folder.accept(record, body, within: settings.limits)
        try? await look()
        ring()
        return id
    }

    nonisolated private func searchedContent(of request: Request) async throws -> Body {
        let (mediaType, coding) = (request.head.headerFields[.contentType], request.head.headerFields[.contentEncoding])
        if request.body.length == 0 { return .empty }
        guard coding ?? "identity" == "identity" else { throw OutboxError(.secret("Content with a content coding")) }
        guard ContentKind(mediaType: mediaType) != .binary else { return request.body }
        do {
            // Text is searched before any byte of it stands on the disk.
            let content = try await request.body.data(upTo: 16 << 20)
            if redaction.applied(to: content, mediaType: mediaType) == content { return Body(content) }
        } catch is BodyLimitError {
            throw OutboxError(.secret("Text of more than 16 MiB"))
        }
        throw OutboxError(.secret("The content"))
    }

    func setPaused(_ isPaused: Bool, _ id: ID) throws {
        try folder.setPaused(isPaused, id)
        try look()
        ring()
    }

    func cancel(_ id: ID) async throws -> Bool {
        try look()
        guard let record = items[id]?.record, !record.hasEnded else { return false }
        let wasThere = try keep(OutboxResult(state: .cancelled, date: clock.date), of: record)
        if let task = tasks[id] { await end([task], waiting: record.job != nil) }
        await removeTraces(of: record)
        ring()
        return wasThere
    }

    func remove(for principal: Principal?) async throws {
        let folder = EntryFolder(settings.root, of: principal)
        let records = try folder.entries().keys.compactMap { try folder.read($0, "request") }
        try folder.removeAll()
        if principal == settings.principal { await end(tasks.values) }
        for record in records { await removeTraces(of: record) }
        try look()
        ring()
    }

    func asideFiles() throws -> [URL] {
        try look()
        return try folder.asideFiles()
    }

    /// Cancels sendings, and waits for their end, unless one of them asks for it.
    private func end(_ tasks: some Collection<Task<Void, Never>>, waiting isWaiting: Bool = true) async {
        for task in tasks { task.cancel() }
        if isWaiting, !Self.isSending { for task in tasks { await task.value } }
    }

    // MARK: - Sending

    nonisolated func start() {
        loop.withLock { $0 = $0 ?? settings.spawner.spawn { [self] in await run() } }
    }

    nonisolated func stop() async {
        let loop = halt()
        if !Self.isSending { await loop?.value }
    }

    @discardableResult nonisolated func halt() -> Task<Void, Never>? {
        let task = loop.withLock { $0.take() }
        task?.cancel()
        return task
    }

    private func run() async {
        let network = settings.network
        let watcher = network.map { network in
            settings.spawner.spawn { [self] in for await _ in network.states() { ring() } }
        }
        var (lock, state) = (HeldFile?.none, network?.state ?? .reachable)
        while !Task.isCancelled {
            let rings = bell.value
            // After this time, changes of another process are seen.
            var wake = clock.instant(after: .seconds(10))
            do {
                try checkPrincipal()
                if lock.map(folder.isLocked(by:)) != true { lock = try folder.lockForSending() }
                try look()
                let former = state
                state = network?.state ?? .reachable
                if lock != nil { wake = min(wake, begin(on: state, isNew: state != former) ?? wake) }
                lastError.withLock { $0 = nil }
            } catch {
                lastError.withLock { $0 = error }
            }
            await withTaskGroup { [bell, clock, wake] group in
                group.addTask { for await count in bell.stream() where count != rings { return } }
                group.addTask { try? await clock.sleep(until: wake, tolerance: nil) }
                await group.next()
                group.cancelAll()
            }
        }
        watcher?.cancel()
        await end(tasks.values)
        // Only now may another process send.
        withExtendedLifetime(lock) {}
    }

    nonisolated private func ring() { bell.update { $0 &+= 1 } }

    /// Begins what is to be sent now, ends what has lost its network, and tells when more may have to begin.
    private func begin(on network: NetworkState, isNew: Bool) -> ContinuousClock.Instant? {
        let now = clock.now
        if isNew, network.isReachable, network.isCaptive != true {
            // Failures may have ended with the former network. Not all clients at once.
            let due = now + .seconds(settings.generator.uniform())
            for (id, item) in items where item.due != nil && !item.isAsked { items[id]?.due = due }
        }
        let plan = EntryDecision.plan(
            items.values, olderThan: settings.limits.age, places: settings.places, network: network, at: now)
        for (id, reason) in plan.waits { items[id]?.waitsFor = reason }
        for id in plan.begins {
            guard var item = items[id] else { continue }
            (item.isRunning, item.attempts, item.last, item.due) = (true, item.attempts + 1, now, nil)
            items[id] = item
            tasks[id] = settings.spawner.spawn { [self, item] in
                await Self.$isSending.withValue(true) { await deliver(item) }
            }
        }
        for id in plan.stops { tasks[id]?.cancel() }
        tell()
        return plan.wake
    }

    private func deliver(_ item: EntryItem) async {
        let (record, id) = (item.record, item.record.id)
        var result = OutboxResult(state: .finished, date: clock.date)
        var verdict = EntryDecision.Verdict.finished
        do {
            let age = settings.limits.age
            if record.job == nil, item.since.duration(to: clock.now) > age {
                verdict = .failed
                result.failure = "The request has waited longer than \(age.shortText), so it is not sent."
            } else if let request = try await request(of: item) {
                if let job = record.job {
                    try await transfer(request, job, item.meter)
                } else {
                    verdict = try await answer(to: request, item.attempts, &result)
                }
            } else {
                verdict = .again(asked: nil)
            }
        } catch {
            verdict = EntryDecision.verdict(
                on: error, ofTransfer: record.job != nil, attempts: item.attempts, at: clock.now, clock.date)
            result.failure = redaction.description(of: error)
            if Task.isCancelled { (verdict, result.failure) = (.again(asked: nil), nil) }
        }
        if case .again(let asked) = verdict {
            let time = EntryDecision.wait(afterAttempts: item.attempts, asked: asked, settings.generator)
            items[id]?.failure = result.failure
            items[id]?.isAsked = asked != nil
            // What was stopped goes on as soon as it may.
            items[id]?.due = Task.isCancelled ? nil : clock.instant(after: time)
        } else {
            if verdict == .failed { result.state = .failed }
            result.date = clock.date
            await end(record, result)
        }
        // It was cancelled, or its user has signed out, perhaps in another process.
        if [nil, .cancelled].contains(items[id]?.state) { await removeTraces(of: record) }
        tasks[id] = nil
        items[id]?.isRunning = false
        tell()
        ring()
    }

    @concurrent nonisolated private func request(of item: EntryItem) async throws -> Request? {
        guard let body = try folder.body(of: item.record) else { return nil }
        var request = item.record.request(with: body)
        if item.record.asksForURL {
            guard let url = settings.url else { throw OutboxError(.missing("url")) }
            try request.replaceURL(with: try await url(OutboxEntry(item)).absoluteString)
        }
        return request
    }

    @concurrent nonisolated private func answer(
        to request: Request, _ attempts: Int, _ result: inout OutboxResult
    ) async throws -> EntryDecision.Verdict {
        let response: Response
        do {
            response = try await settings.connection.send(request)
        } catch let error as StatusError {
            response = error.response
        }
        let verdict = EntryDecision.verdict(on: response.head, attempts: attempts, at: clock.date)
        if verdict != .finished { result.failure = "The server has answered with the status \(response.status.code)." }
        let secretFields = settings.connection.secretFields.union(request.options.secretFields)
        let fields = redaction.applied(to: response.head.headerFields, secretFields: secretFields)
        result.response = HTTPResponse(status: .init(code: response.status.code), headerFields: fields)
        // The status alone decides: a repetition after a break would bring the same write again.
        var content = Data()
        if var reader = try? await response.body.open() {
            while content.count < OutboxResult.contentLimit, let chunk = try? await reader.next() {
                content.append(chunk)
            }
        }
        result.content = redaction.applied(
            to: content.prefix(OutboxResult.contentLimit), mediaType: response.head.headerFields[.contentType])
        return verdict
    }

    @concurrent nonisolated private func transfer(
        _ request: Request, _ job: EntryRecord.Job, _ meter: TransferMeter
    ) async throws {
        let (connection, generator) = (settings.connection, settings.generator)
        let run = TransferRun(number: meter.updates.value.attempts + 1, isAfresh: false, meter: meter)
        meter.begin(run.number, afresh: false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in for await _ in meter.updates.stream() { await tell() } }
            defer { group.cancelAll() }
            guard let name = job.uploadProtocol else {
                let download = Download(
                    connection, request, .file(job.file), .standard, clock: clock, generator: generator)
                _ = try await download.run(run)
                return
            }
            guard name == settings.uploads.name else { throw OutboxError(.missing("uploads")) }
            let work = try UploadWork(
                over: connection, request, settings.uploads, UploadPolicy(), Body(contentsOf: job.file), clock,
                generator)
            let response = try await work.perform(run)
            // A body that nobody reads would keep its transfer.
            _ = try? await response.body.data(upTo: OutboxResult.contentLimit)
            guard response.status.code < 400 else { throw StatusError(response, to: request, at: clock.date) }
        }
    }

    /// Removes what has arrived of a download, and what an upload has noted beside its file.
    @concurrent nonisolated private func removeTraces(of record: EntryRecord) async {
        guard let job = record.job else { return }
        let request = record.request()
        if let name = job.uploadProtocol {
            await UploadKeeper(of: job.file, for: request, by: name).remove()
        } else {
            try? DownloadPart.remove(of: job.file, for: TransferIdentity(request))
        }
    }

    /// Keeps the end of an entry, as soon as the disk takes it; until then, the entry is not sent again.
    private func end(_ record: EntryRecord, _ result: OutboxResult) async {
        var (result, attempts, wait) = (result, 0, Duration.zero)
        repeat {
            do {
                try keep(result, of: record)
                return
            } catch {
                lastError.withLock { $0 = error }
            }
            // A full disk may still have room for the status.
            result.content = Data()
            attempts += 1
            wait = EntryDecision.wait(afterAttempts: attempts, asked: nil, settings.generator)
        } while (try? await clock.sleep(for: wait)) != nil
    }

    @discardableResult private func keep(_ result: OutboxResult, of record: EntryRecord) throws -> Bool {
        var record = record
        record.result = result
        let wasThere = try folder.end(record)
        items[record.id]?.take(record, since: clock.now)
        if !wasThere { items[record.id] = nil }
        tell()
        return wasThere
    }

    // MARK: - Knowledge

    /// Learns what is in the folder, removes results that are too old, and ends what is not to be sent any longer.
    func look() throws(PrivateFileError) {
        let (entries, now) = (try folder.entries(), clock.now)
        items = items.filter { entries[$0.key] != nil }
        for (id, parts) in entries where items[id]?.parts != parts {
            guard let record = try folder.read(id) else {
                items[id] = nil
                continue
            }
            // A crash came between the two steps of its end.
            if record.hasEnded, parts["request"] != nil { try folder.remove(id, alsoEnd: false) }
            // A clock that was set back makes nothing older.
            let age = min(max(0, clock.date.timeIntervalSince(record.result?.date ?? record.date)), 0x1p31)
            let new = EntryItem(record: record, since: now, last: now, meter: TransferMeter(clock: clock))
            items[id, default: new].take(record, since: now - .seconds(age))
            items[id]?.parts = parts
        }
        for (id, item) in items where item.record.result != nil && item.since.duration(to: now) > settings.limits.age {
            items[id] = nil
            try folder.remove(id)
        }
        tell()
        for (id, task) in tasks where [nil, .cancelled, .paused].contains(items[id]?.state) { task.cancel() }
    }

    private func tell() {
        let sorted = items.values.sorted { $0.record.id.rawValue < $1.record.id.rawValue }
        updates.update { $0 = sorted.map(OutboxEntry.init) }
    }
}
