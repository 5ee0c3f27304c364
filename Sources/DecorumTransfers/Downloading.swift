public import Decorum
public import Foundation
import HTTPTypes

extension Connection {
    /// Downloads content to a file, which appears only when it is complete.
    ///
    /// ```swift
    /// let result = try await connection.download(.get("https://example.com/film.mp4"), to: file)
    /// print(result.length, result.check)
    /// ```
    ///
    /// A break, a cancellation or a crash leaves a part beside the file, `.NAME.part`, and a record. The next download of the
    /// same URL to the same file asks for the rest alone (`Range`, with `If-Range`, RFC 9110, sections 13.1.5 and 14.2). Where
    /// the server has another content, ignores the range, or told no strong validator, it begins anew
    /// (``DownloadResult/restarts``). A part that is damaged, or of another URL or user, is set aside as `.NAME.part.aside`. A
    /// URL that was signed anew is another one, unless `RequestOptions.secretQueryItems` names the items that change.
    ///
    /// The request is a `GET` without a range and without conditions, and asks for bytes without a content coding. `url` is
    /// that of the file, in a folder that exists, or that of the folder, with a function that gives the name, such as
    /// `\.suggestedFileName` of `DecorumEndpoints`; a name that leads out of the folder, or is taken, is refused before the
    /// first byte. All files are for this user alone (0600), unless the new one takes the place and the permissions of another.
    ///
    /// - Throws: ``DownloadError``; `StatusError` for a status that means no content; `CancellationError`; or the last error of
    ///   the connection once too many attempts in a row have brought nothing.
    public func download(
        _ request: Request, to url: URL, policy: DownloadPolicy = .standard,
        named name: (@Sendable (_ response: Response) -> String)? = nil
    ) async throws -> DownloadResult {
        try await Download(self, request, .init(url: url, name: name), policy).run(.untold(SystemClock()))
    }

    /// Prepares a download, which can be paused and goes on later, otherwise as ``download(_:to:policy:named:)``.
    public func downloading(
        _ request: Request, to url: URL, policy: DownloadPolicy = .standard, clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator(), spawner: any TaskSpawner = SystemSpawner(),
        named name: (@Sendable (_ response: Response) -> String)? = nil
    ) -> Transfer<DownloadResult> {
        let download = Download(self, request, .init(url: url, name: name), policy, clock: clock, generator: generator)
        return Transfer(of: principal(of: request), clock: clock, spawner: spawner) { try await download.run($0) }
    }

    /// Removes what has arrived of a download to a file or a folder, and what was set aside for it; without effect without it.
    ///
    /// - Throws: ``DownloadError``, such as for a download that is under way.
    @concurrent public func discardDownload(of request: Request, to url: URL) async throws {
        let identity = TransferIdentity(request, over: self)
        for file in [url, identity.file(in: url)] { try DownloadPart.remove(of: file, for: identity) }
    }
}

/// The settings of a download.
public struct DownloadPolicy: Sendable {
    /// The number of ranges at the same time, from a server that tells a strong validator; from 1 to 16.
    public var parallel: Int
    /// The digest that the content has to have; nil to check its length alone.
    public var digest: ExpectedDigest?
    /// How often the download goes on after a break, and after which waits.
    public var resumption: ResumptionPolicy
    var firstRange: Int64 = 256 << 10

    /// Creates a policy.
    public init(parallel: Int = 1, digest: ExpectedDigest? = nil, resumption: ResumptionPolicy = .standard) {
        (self.parallel, self.digest, self.resumption) = (parallel, digest, resumption)
    }

    /// One range at a time, and no digest.
    public static let standard = DownloadPolicy()
}

/// The digest that a content has to have, such as its SHA-256.
public struct ExpectedDigest: Sendable {
    let matches: @Sendable (Body) async throws -> Bool

    /// Creates a digest from its bytes, which a source has told that the app trusts, and the function that computes it.
    public init<Digest: Sequence<UInt8> & SendableMetatype>(
        _ bytes: some Sequence<UInt8>, of digest: @escaping @Sendable (_ content: Body) async throws -> Digest
    ) {
        let expected = Array(bytes)
        matches = { try await digest($0).elementsEqual(expected) }
    }
}

/// What a download has brought.
public struct DownloadResult: Sendable, Hashable {
    /// What shows that the file is complete.
    public enum Check: String, Sendable, Hashable {
        /// It has the expected digest.
        case digest
        /// It has the length that the server told; nothing was said about its bytes.
        case length
        /// The server told no length, so there is only the proper end of its answer.
        case end
    }

    /// The file.
    public let file: URL
    /// The number of its bytes.
    public let length: Int64
    /// What shows that it is complete.
    public let check: Check
    /// The content coding in which a server has sent the file although it was not asked to, such as `gzip`; nil without one.
    public let contentCoding: String?
    /// The reasons why the download has begun anew with the first byte, in order; empty if it has not.
    public let restarts: [DownloadRestart]
}

/// A download has failed at this end; what has arrived stays unless it is of no use.
public struct DownloadError: DescribableError, Hashable {
    /// What has failed.
    public enum Reason: Sendable, Hashable {
        /// The request is no `GET`, or has a range or a condition.
        case unsuitableRequest
        /// There is a file of the name that the function has given, or a folder where the file is to be.
        case fileExists
        /// The name of the file leads to another folder, or is no name.
        case unsafeName
        /// Another download of this or another process has the part.
        case inUse
        /// The content has another digest than the expected one; it was thrown away.
        case wrongDigest
        /// The download has begun anew too often.
        case tooManyRestarts
        /// The disk is full, or the user's share of it.
        case fullDisk
        /// The system has failed, with the number of its error.
        case system(Int32)
    }

    /// The reason.
    public let reason: Reason

    init(_ reason: Reason) { self.reason = reason }

    init(errno code: Int32) {
        switch code {
        case ENOSPC, EDQUOT: reason = .fullDisk
        case EEXIST: reason = .fileExists
        default: reason = .system(code)
        }
    }

    /// The name of the reason.
    public var shortDescription: String { if case .system = reason { "system" } else { "\(reason)" } }

    /// The reason and the way to mend it, without a path, which may name a user.
    public var description: String {
        switch reason {
        case .unsuitableRequest: "The request cannot go on later. Send a `GET` without `Range` and conditions."
        case .fileExists: "A file or a folder is at the place of the download. Choose another name, or use `named:`."
        case .unsafeName: "The name for the download leads out of its folder. Reduce it to one segment of a path."
        case .inUse: "Another download writes to the same place. Wait for its end, or cancel it."
        case .wrongDigest: "The content has another digest than the expected one, and was thrown away."
        case .tooManyRestarts: "The server has changed or repeated the content again and again. Try the download later."
        case .fullDisk: "The disk has no space for the rest of the download. Make space, and start it again to go on."
        case .system(let code): "The download was not written: error \(code) of the system. Check the folder's rights."
        }
    }
}
