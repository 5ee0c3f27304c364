public import Foundation
import Synchronization

/// The hosts that are to be reached over https alone (RFC 6797), which one or more stacks share.
///
/// ```swift
/// let hosts = StrictTransportHosts(file: PrivateFile(support.appending(path: "strict-hosts")))
/// let connection = SystemConnection()
///     .upgradingToHTTPS(remembering: hosts)
///     .followingRedirects()
/// ```
///
/// A host is learnt from the answers of ``Connection/upgradingToHTTPS(remembering:clock:)``, or is in the preload data,
/// which the app brings as a file (`preloading:`) and which no answer removes. Hosts that are learnt are forgotten when
/// their time ends, at most ten years later; when the host says so; or when there are more than ``limit``, the one that
/// ends first. With a file, they survive the end of the process: a file that is missing or damaged counts as empty, and a
/// change is written in the background.
///
/// Both files are text in the form of curl's option `--hsts`: a line has a host, with a dot before it where all hosts
/// below are meant, and the end of the time, as in `.example.com "20271231 23:59:59"` or `"unlimited"`. A line with a host
/// alone is for ever, and lines that begin with a number sign are ignored.
///
/// The memory tells which hosts a user has visited, and servers can use it to recognize a user: call ``removeAll()`` when
/// the user asks to forget.
public final class StrictTransportHosts: Sendable {
    /// The largest number of hosts that are learnt.
    public let limit: Int

    private let learnt = Mutex<[String: StrictTransportEntry]>([:])
    private let preloaded: [String: StrictTransportEntry]
    private let file: PrivateFile?
    private let errorOfReading: (any Error)?

    /// The largest number of bytes of a file of learnt hosts, and of preload data.
    private static let fileLimit = 4 << 20
    private static let preloadLimit = 64 << 20

    /// Creates a memory.
    ///
    /// - Parameters:
    ///   - file: The file that keeps the hosts; nil to keep them in memory alone. It is read here.
    ///   - preload: The text of the preload data; nil for none.
    ///   - limit: The largest number of hosts that are learnt; a negative one counts as 0.
    public init(file: PrivateFile? = nil, preloading preload: String? = nil, limit: Int = 1000) {
        self.limit = max(0, limit)
        self.file = file
        preloaded = StrictTransportEntry.all(in: preload ?? "", upTo: .max)
        do {
            let text = try file?.contents(upTo: Self.fileLimit).map { String(decoding: $0, as: UTF8.self) }
            let entries = StrictTransportEntry.all(in: text ?? "", upTo: self.limit)
            learnt.withLock { $0 = entries }
            errorOfReading = nil
        } catch {
            errorOfReading = error
        }
    }

    /// Creates a memory with preload data from a file of the app.
    ///
    /// - Parameters:
    ///   - file: The file that keeps the hosts; nil to keep them in memory alone.
    ///   - preload: The file of the preload data, of at most 64 MiB.
    ///   - limit: The largest number of hosts that are learnt.
    /// - Throws: The error of reading the preload data.
    public convenience init(file: PrivateFile? = nil, preloadingFrom preload: URL, limit: Int = 1000) throws {
        let size = try preload.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
        guard size <= Self.preloadLimit else { throw CocoaError(.fileReadTooLarge) }
        self.init(file: file, preloading: try String(contentsOf: preload, encoding: .utf8), limit: limit)
    }

    /// The number of hosts that are learnt, with those whose time has ended since.
    public var count: Int { learnt.withLock { $0.count } }

    /// The error because of which the file could not be read or written; nil where there was none.
    public var fileError: (any Error)? { file?.error ?? errorOfReading }

    /// Whether requests to a host go over https alone.
    ///
    /// - Parameters:
    ///   - host: The host, in lower case; an address is never one.
    ///   - date: The current date.
    /// - Returns: Whether the host, or one above it with all its hosts, is known.
    public func contains(_ host: String, at date: Date) -> Bool {
        guard !Origin.isAddress(host) else { return false }
        let seconds = HTTPDate(date).seconds
        var name = Substring(host.droppingLastDot)
        var isHost = true
        return learnt.withLock { learnt in
            // A host has at most 253 characters, but nothing checks it.
            for _ in 0..<128 {
                let key = String(name)
                for entry in [learnt[key], preloaded[key]] {
                    if let entry, entry.end > seconds, isHost || entry.includesSubdomains { return true }
                }
                guard let dot = name.firstIndex(of: ".") else { return false }
                name = name[name.index(after: dot)...]
                isHost = false
            }
            return false
        }
    }

    /// Learns from the field of an answer that came over https without an error of TLS.
    ///
    /// - Parameters:
    ///   - field: The value of the field.
    ///   - host: The host that answered; an address is ignored.
    ///   - date: The current date.
    public func learn(_ field: StrictTransportField, from host: String, at date: Date) {
        let host = host.droppingLastDot
        guard !Origin.isAddress(host), host.utf8.count <= 253, limit > 0 else { return }
        let now = HTTPDate(date).seconds
        let hasChanged = learnt.withLock { learnt in
            guard field.maximumAge > 0 else { return learnt.removeValue(forKey: host) != nil }
            let age = Int64(min(field.maximumAge, StrictTransportEntry.longestAge))
            let entry = StrictTransportEntry(end: now + age, includesSubdomains: field.includesSubdomains)
            let old = learnt.updateValue(entry, forKey: host)
            if learnt.count > limit {
                learnt = learnt.filter { $0.value.end > now }
                while learnt.count > limit, let first = learnt.min(by: { $0.value.end < $1.value.end }) {
                    learnt[first.key] = nil
                }
            }
            // Each answer moves the end a little, which is not worth writing.
            return old.map { $0.includesSubdomains != entry.includesSubdomains || entry.end - $0.end > age / 20 }
                ?? true
        }
        if hasChanged { save() }
    }

    /// Forgets all hosts that are learnt; the preload data stays.
    public func removeAll() {
        learnt.withLock { $0 = [:] }
        save()
    }

    /// Waits until the file has all changes so far.
    public func waitUntilSaved() async { await file?.waitUntilWritten() }

    private func save() {
        file?.update {
            let lines = self.learnt.withLock { $0 }.sorted { $0.key < $1.key }.map { $0.value.line(for: $0.key) }
            return Data((["# Hosts that are reached over https alone."] + lines + [""]).joined(separator: "\n").utf8)
        }
    }
}

extension StrictTransportHosts: CustomStringConvertible {
    /// The number of hosts, without their names.
    public var description: String { count == 1 ? "1 host" : "\(count) hosts" }
}
