public import Decorum
public import Foundation
public import HTTPTypes

/// A request that an ``Outbox`` has accepted, or a transfer of a ``TransferQueue``.
public struct OutboxEntry: Sendable, Hashable, Identifiable {
    /// The name of an entry, by which a later process can ask for its result.
    public struct ID: Sendable, Hashable, Codable, RawRepresentable {
        /// The name as text: the place in the order of the folder, and a random part.
        public let rawValue: String

        /// Reads a name; nil for a text that no outbox has given.
        public init?(rawValue: String) {
            let (bytes, digits) = (rawValue.utf8, Set("0123456789abcdef-".utf8))
            guard bytes.count == 53, bytes.allSatisfy(digits.contains), Array(bytes)[16] == UInt8(ascii: "-"),
                Int64(rawValue.prefix(16), radix: 16) != nil
            else { return nil }
            self.rawValue = rawValue
        }

        init(_ sequence: Int64, _ uuid: String) {
            rawValue = sequence.hexadecimal() + "-" + uuid
        }

        var sequence: Int64 { Int64(rawValue.prefix(16), radix: 16) ?? 0 }
        /// The random part, which is the `Idempotency-Key` unless the request has brought its own.
        var key: String { String(rawValue.dropFirst(17)) }

        func isName(of file: URL) -> Bool { file.lastPathComponent.hasPrefix(rawValue) }
    }

    /// The name.
    public let id: ID
    /// The lane in whose order it is sent.
    public let lane: String
    /// The method.
    public let method: HTTPRequest.Method
    /// The URL, or the reference, as it is kept: without the secrets that the app puts into it when it is sent.
    public let url: String
    /// The date at which it was accepted.
    public let date: Date
    /// The reason why the last attempt of this process was in vain, or why the entry has failed; without secrets.
    public let failure: String?
    /// The file that a transfer writes or reads; nil for a request of an outbox.
    public let file: URL?
    /// How far a transfer has come, and for any entry its state, and what it waits for.
    public internal(set) var progress: TransferProgress
    /// The state: waiting, running, paused, finished (2xx), failed (refused, or too old) or cancelled.
    public var state: TransferState { progress.state }

    init(_ item: EntryItem) {
        let (record, job) = (item.record, item.record.job)
        (id, lane, method, url) = (record.id, record.lane, record.head.method, record.url)
        (date, failure, file, progress) = (record.date, item.failure, job?.file, item.meter.updates.value)
        // A run tells by itself that it waits.
        if item.state == .running, progress.state == .waiting { return }
        (progress.state, progress.waitsFor) = (item.state, item.state == .waiting ? item.waitsFor : nil)
        if item.state != .running { progress.rate = nil }
    }
}

/// The end of an entry of an ``Outbox``.
public struct OutboxResult: Sendable, Hashable, Codable {
    static let contentLimit = 64 << 10

    /// The state: finished, failed or cancelled.
    public internal(set) var state: TransferState
    /// The status and the fields of the server's answer, with their secrets replaced; nil without an answer.
    public internal(set) var response: HTTPResponse?
    /// The begin of the content of the answer, up to 64 KiB, with its secrets replaced.
    public internal(set) var content = Data()
    /// The reason of a failure; nil for a request that the server has carried out.
    public internal(set) var failure: String?
    /// The date of the end.
    public internal(set) var date: Date
}

/// An outbox or a queue does not accept a request, or cannot send it.
public struct OutboxError: DescribableError, Hashable {
    /// The reason.
    public enum Reason: Sendable, Hashable {
        /// The method changes nothing at the server.
        case safeMethod
        /// A part of the request, named in words, may be a credential, or cannot be searched for one.
        case secret(String)
        /// The number or the size of what waits has reached its limit, or the request alone is larger.
        case full
        /// The request, or the connection, acts for another user.
        case otherPrincipal
        /// The user has signed out while the request was added.
        case signedOut
        /// The request needs a parameter of the outbox or the queue, which is missing or another one.
        case missing(String)
        /// A file is damaged, a link, open to others, of another entry or user, or of a later version.
        case setAside(URL)
    }

    /// The reason.
    public let reason: Reason

    init(_ reason: Reason) { self.reason = reason }

    /// The name of the reason.
    public var shortDescription: String { String("\(reason)".prefix { $0 != "(" }) }

    /// The reason in words, and the way to mend it.
    public var description: String {
        switch reason {
        case .safeMethod: "The request changes nothing, so it is not kept. Send it directly."
        case .secret(let part):
            "\(part) may hold a credential, which would stand on the disk. "
                + "Let the connection add it when the request is sent, or pass `allowingSecrets: true`."
        case .full: "There is no room for the request beside what waits. Try again once some are sent."
        case .otherPrincipal:
            "The request or the connection may act for another user, so nothing is sent. "
                + "Name the user at both: `acting(for:)`, and `outbox(in:for:)` or `transferQueue(in:for:)`."
        case .signedOut:
            "The user has signed out while the request was added, so it was not kept. Add it after the next sign-in."
        case .missing(let name):
            "The request cannot be sent as it was accepted. Pass `\(name)` to `outbox(in:)` or `transferQueue(in:)`."
        // Without the path, which may name a user.
        case .setAside:
            "A file is damaged, or not of this user and entry, so it was set aside unsent. See `reason`, and remove it."
        }
    }
}
