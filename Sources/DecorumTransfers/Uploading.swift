public import Decorum
public import Foundation
import HTTPTypes

extension Connection {
    /// Uploads content in a way that goes on after a break, and that of a file after a crash or restart of the process too.
    ///
    /// ```swift
    /// let response = try await connection.upload(Body(contentsOf: film), to: .post("https://example.com/films"))
    /// ```
    ///
    /// A small record beside the file names the upload, with its URL, by which some servers let anybody go on; it goes when the
    /// upload ends. The next call with the same file, request and user goes on from there; a URL that was signed anew is
    /// another one, unless `RequestOptions.secretQueryItems` names the items that change. An upload that the server has removed
    /// begins anew, once. Upload a file to one target once at a time.
    ///
    /// The body is a file or bytes; the fields of the request describe it. Apply it to the whole stack, without layers that
    /// code the content of requests, such as `compressing`. The result is the server's answer, with any status.
    ///
    /// - Throws: ``UploadError``, `StatusError` for a status that the protocol does not expect, the error of the connection, or
    ///   the error that prevents reading the file or keeping the record.
    public func upload<Method: UploadProtocol>(
        _ body: Body, to request: Request, by method: Method = ResumableUpload(), policy: UploadPolicy = UploadPolicy()
    ) async throws -> Response {
        try await UploadWork(over: self, request, method, policy, body).perform(.untold(SystemClock()))
    }

    /// Prepares an upload, which can be paused and goes on later, otherwise as ``upload(_:to:by:policy:)``.
    ///
    /// A restart removes the present upload at the server; cancelling leaves it, see ``discardUpload(of:to:by:policy:)``.
    public func uploading<Method: UploadProtocol>(
        _ body: Body, to request: Request, by method: Method = ResumableUpload(), policy: UploadPolicy = UploadPolicy(),
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator(),
        spawner: any TaskSpawner = SystemSpawner()
    ) -> Transfer<Response> {
        let work = UploadWork(over: self, request, method, policy, body, clock, generator)
        return Transfer(of: principal(of: request), clock: clock, spawner: spawner) { try await work.perform($0) }
    }

    /// Removes an upload that is not complete from the server, and its record; without effect without a record.
    ///
    /// - Throws: `StatusError` if the server refuses, or the error of the connection; the record then stays.
    public func discardUpload<Method: UploadProtocol>(
        of file: URL, to request: Request, by method: Method = ResumableUpload(), policy: UploadPolicy = UploadPolicy()
    ) async throws {
        try await UploadWork(over: self, request, method, policy, .empty, of: file).discard()
    }
}

/// The rules of an upload that goes on after a break.
public struct UploadPolicy: Sendable {
    /// The attempts in a row without a further byte stored, after which the last error is thrown, and the waits before them.
    public var resumption: ResumptionPolicy
    /// The origins that the server may lead an upload to, beside its own; they get no credentials of the first origin.
    public var origins: Set<Origin>

    /// Creates a policy.
    public init(resumption: ResumptionPolicy = .standard, origins: Set<Origin> = []) {
        (self.resumption, self.origins) = (resumption, origins)
    }
}

struct UploadWork: Sendable {
    private enum Move { case create, ask, append }
    private static let temporaryStatuses = [408, 409, 423, 425, 429, 460, 500, 502, 503, 504]

    let connection: any Connection
    let request: Request
    let method: any UploadProtocol
    let policy: UploadPolicy
    let clock: any DatedClock
    let generator: any RandomGenerator
    let body: Body
    let keeper: UploadKeeper

    init(
        over connection: any Connection, _ request: Request, _ method: any UploadProtocol, _ policy: UploadPolicy,
        _ body: Body, _ clock: any DatedClock = SystemClock(), _ generator: any RandomGenerator = SystemGenerator(),
        of file: URL? = nil
    ) {
        (self.connection, self.request, self.method, self.policy) = (connection, request, method, policy)
        (self.clock, self.generator, self.body) = (clock, generator, body)
        keeper = UploadKeeper(of: file ?? body.file, for: request, over: connection, by: method.name)
    }

    @concurrent func discard() async throws {
        guard let record = try await keeper.load() else { return await keeper.remove() }
        var upload = try await Upload(self, .untold(clock))
        upload.ticket = record.ticket
        if record.ticket != UploadTicket() { try await method.cancel(&upload) }
        await keeper.remove()
    }

    @concurrent func perform(_ run: TransferRun) async throws -> Response {
        var upload = try await Upload(self, run)
        // A record that is damaged tells of no upload that could be removed.
        let found = run.isAfresh ? try? await keeper.load() : try await keeper.load()
        if let found, found.ticket != UploadTicket() {
            upload.ticket = found.ticket
            if run.isAfresh {
                try? await method.cancel(&upload)
            } else if found.content != upload.identity {
                throw UploadError(.contentChanged)
            } else if found.isWholeSent || found.ticket.expiry ?? .distantFuture > clock.date {
                // Content that the server may have whole is asked for in any case.
                return try await perform(&upload, from: .ask)
            }
        }
        await keeper.remove()
        upload.ticket = UploadTicket()
        return try await perform(&upload, from: .create)
    }

    private func perform(_ upload: inout Upload, from first: Move) async throws -> Response {
        var (move, mayBeginAnew) = (first, first == .ask)
        /// What the server has told to be stored; nil before it has told anything.
        var (stored, failures): (Int64?, Int) = (nil, 0)
        while true {
            do {
                // An upload at the server that no record names would be lost.
                if move == .create { try await keeper.keep(upload.identity) { _ in } }
                if move == .append { upload.run.begin(at: stored ?? 0, of: upload.length) }
                let step =
                    switch move {
                    case .create: try await method.create(&upload)
                    case .ask: try await method.offset(of: &upload)
                    case .append: try await method.append(from: stored ?? 0, to: &upload)
                    }
                switch step {
                case .finished(let response):
                    await keeper.remove()
                    return response
                case .stored(let offset):
                    let ticket = upload.ticket
                    try await keeper.keep(upload.identity) { $0.ticket = ticket }
                    // What an earlier process has sent is not known.
                    let reach = stored.map { max($0, upload.run.reach) } ?? upload.length
                    guard offset >= stored ?? 0, offset <= reach else { throw UploadError(.invalidAnswer) }
                    if offset > stored ?? -1 {
                        failures = 0
                    } else if move == .append {
                        try await wait(after: UploadError(.invalidAnswer), &failures, upload.run)
                    }
                    (stored, move) = (offset, .append)
                }
            } catch {
                // The reader of the content may have thrown it.
                let error = (error as? TransportError)?.underlying as? UploadError ?? error
                let isGone = (error as? UploadError)?.reason == .gone
                let isWholeSent = keeper.isWholeSent
                if move == .create || isGone {
                    // Else there would be a record without an upload.
                    await keeper.remove()
                    upload.ticket = UploadTicket()
                }
                if isGone {
                    guard mayBeginAnew, !isWholeSent else { throw isWholeSent ? UploadError(.outcomeUnknown) : error }
                    (mayBeginAnew, stored, move) = (false, nil, .create)
                } else {
                    let status = (error as? StatusError)?.status.code ?? 0
                    guard (error as? any TemporaryError)?.mayPass == true || Self.temporaryStatuses.contains(status)
                    else { throw error }
                    try await wait(after: error, &failures, upload.run)
                    if move == .append { move = .ask }
                }
            }
        }
    }

    private func wait(after error: any Error, _ failures: inout Int, _ run: TransferRun) async throws {
        let asked = (error as? StatusError)?.retryAfter
        guard request.options.timeLeft(at: clock.now) != .zero,
            let wait = policy.resumption.wait(afterFailures: failures, asked: asked, using: generator)
        else { throw error }
        failures += 1
        run.wait(for: "another attempt")
        try await clock.sleep(for: wait)
        run.wait(for: nil)
    }
}
