import DecorumSecrets
package import Foundation
package import HTTPTypes
import Synchronization

extension Connection {
    /// Sends requests over https to the hosts that have asked for it, and remembers the hosts that ask (RFC 6797).
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .upgradingToHTTPS(remembering: hosts)
    ///     .followingRedirects()
    /// ```
    ///
    /// A request over http to a host in `hosts` is sent over https instead: to port 443 in place of 80, and to the same
    /// port otherwise. A host asks by `Strict-Transport-Security` in an answer over https. The layer learns only from
    /// answers of the network, from confirmed answers and from test doubles. It does not learn from a stored
    /// or a recorded answer, or from an answer of another origin than the one that was asked. An address is never
    /// upgraded.
    ///
    /// The rule holds as far as the transport checks certificates. A failure of TLS is thrown as by any other https
    /// request; nothing is sent over http in its place.
    ///
    /// Place it directly inside of ``followingRedirects(upTo:policy:remembering:clock:)``, so that it sees each hop, and
    /// outside of cookies, caches and credentials. An http request that ``restrictingHosts(to:)`` would refuse passes where
    /// that layer stands further in.
    ///
    /// - Parameters:
    ///   - hosts: The hosts that are known, which several stacks may share.
    ///   - clock: The clock by which hosts are forgotten.
    /// - Returns: A connection that upgrades requests.
    public func upgradingToHTTPS(
        remembering hosts: StrictTransportHosts, clock: any DatedClock = SystemClock()
    ) -> some Connection {
        UpgradingConnection(base: self, hosts: hosts, clock: clock)
    }
}

struct UpgradingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let hosts: StrictTransportHosts
    let clock: any DatedClock

    var layer: Layer {
        Layer(
            name: "upgradingToHTTPS", role: .hostPolicy, settings: [.init("remembering", hosts)],
            facts: Layer.facts(of: clock).union([.changesSignedParts]),
            memory: .init(state: [Layer.StateIdentity(hosts)]))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        if request.head.scheme != "https", let origin = try? Origin(request.head), origin.scheme == "http",
            hosts.contains(origin.host, at: clock.date)
        {
            // RFC 6797, section 8.3.
            let target = try Origin(scheme: "https", host: origin.host, port: origin.port == 80 ? 443 : origin.port)
            request.head.scheme = target.scheme
            request.head.authority = target.authority
            request.options.callContext?.note(
                CallDecision(.redirects, by: "upgradingToHTTPS", "sends to \(target) in place of \(origin)"))
        }
        let head = request.head
        let response = try await base.send(request)
        if response.head.headerFields.has(.strictTransportSecurity) { learn(from: response, to: head) }
        return response
    }

    private func learn(from response: borrowing Response, to head: HTTPRequest) {
        guard response.metadata.source.isServer, let origin = try? Origin(head), origin.scheme == "https",
            response.metadata.url.map({ (try? Origin($0)) == origin }) ?? true,
            let field = StrictTransportField(response.head.headerFields)
        else { return }
        hosts.learn(field, from: origin.host, at: clock.date)
    }
}

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
/// which the app brings (`preloading:`) and which no answer removes. Hosts that are learnt are forgotten when
/// their time ends, at most ten years later; when the host says so; or when there are more than ``limit``, the one that
/// ends first. With a file, they survive the end of the process: a file that is missing or damaged counts as empty, and a
/// change is written in the background.
///
/// The file and the preload data are text in the form of curl's option `--hsts`: a line has a host, with a dot before it where all hosts
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

    /// The largest number of bytes of a file of learnt hosts.
    private static let fileLimit = 4 << 20

    /// Creates a memory.
    ///
    /// - Parameters:
    ///   - file: The file that keeps the hosts; nil to keep them in memory alone. It is read here.
    ///   - preload: The text of the preload data; nil without any.
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

    /// The number of hosts that are learnt; it counts a host whose time has ended since.
    public var count: Int { learnt.withLock { $0.count } }

    /// The error because of which the file could not be read or written; nil without an error.
    public var fileError: (any Error)? { file?.error ?? errorOfReading }

    /// Whether requests to a host, in lower case, go over https alone, since it, or one above it with all its hosts, is known.
    package func contains(_ host: String, at date: Date) -> Bool {
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

    /// Learns from the field of an answer that came over https without an error of TLS; the address of a host is ignored.
    package func learn(_ field: StrictTransportField, from host: String, at date: Date) {
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
            let learnt = self.learnt.withLock { $0 }
            let lines = Array(learnt.keys).sorted().compactMap { learnt[$0]?.line(for: $0) }
            return Data((["# Hosts that are reached over https alone."] + lines + [""]).joined(separator: "\n").utf8)
        }
    }
}

extension StrictTransportHosts: CustomStringConvertible {
    /// The number of hosts, without their names.
    public var description: String { count == 1 ? "1 host" : "\(count) hosts" }
}

/// The wish of a host to be reached over https alone, until a date.
struct StrictTransportEntry: Sendable, Hashable {
    /// The longest time, in seconds, for which a wish is kept.
    static let longestAge = 10 * 366 * 86_400

    /// The end of the time, in seconds since 1970.
    var end: Int64
    var includesSubdomains: Bool

    /// The line of a file, in the form of curl.
    func line(for host: String) -> String {
        let date = CivilDate(seconds: HTTPDate(Date(timeIntervalSince1970: Double(end))).seconds)
        let parts = [
            (date.year, 4), (date.month, 2), (date.day, 2), (date.hour, 2), (date.minute, 2), (date.second, 2),
        ]
        let digits = parts.map { String(repeating: "0", count: max(0, $1 - "\($0)".count)) + "\($0)" }
        let time = digits[..<3].joined() + " " + digits[3...].joined(separator: ":")
        return "\(includesSubdomains ? "." : "")\(host) \"\(time)\""
    }

    /// The entries of a file by their hosts; other lines are left out.
    static func all(in text: String, upTo limit: Int) -> [String: StrictTransportEntry] {
        var entries: [String: StrictTransportEntry] = [:]
        for line in text.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            guard entries.count < limit else { break }
            guard line.first != UInt8(ascii: "#"), let (host, entry) = parse(Substring(line)) else { continue }
            entries[host] = entry
        }
        return entries
    }

    private static func parse(_ line: Substring) -> (String, StrictTransportEntry)? {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard let name = parts.first else { return nil }
        let covers = name.hasPrefix(".")
        guard let origin = try? Origin(scheme: "https", host: String(covers ? name.dropFirst() : name)),
            !Origin.isAddress(origin.host), origin.host.utf8.count <= 253
        else { return nil }
        var end = Int64.max
        if parts.count > 1 {
            let date = parts[1].trimmingCharacters(in: .whitespaces)
            guard date.hasPrefix("\""), date.hasSuffix("\""), date.utf8.count > 2 else { return nil }
            let words = date.dropFirst().dropLast()
            if words != "unlimited" {
                guard let seconds = seconds(of: words) else { return nil }
                end = seconds
            }
        }
        return (origin.host.droppingLastDot, StrictTransportEntry(end: end, includesSubdomains: covers))
    }

    /// The seconds since 1970 of a date such as `20271231 23:59:59`.
    private static func seconds(of text: Substring) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 17, bytes[8] == 0x20, bytes[11] == UInt8(ascii: ":"), bytes[14] == UInt8(ascii: ":") else {
            return nil
        }
        let separators = [8, 11, 14]
        guard bytes.indices.allSatisfy({ separators.contains($0) || (0x30...0x39).contains(bytes[$0]) }) else {
            return nil
        }
        let numbers = [0..<4, 4..<6, 6..<8, 9..<11, 12..<14, 15..<17].map { range in
            bytes[range].reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
        let date = CivilDate(
            year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4],
            second: numbers[5])
        guard date.day >= 1, date.day <= date.daysInMonth, date.hour < 24, date.minute < 60, date.second <= 60 else {
            return nil
        }
        return date.seconds
    }
}

/// The value of a `Strict-Transport-Security` field, by which a host asks for https alone (RFC 6797, section 6.1).
package struct StrictTransportField: Sendable, Hashable {
    /// The time for which the host asks, in seconds; 0 ends an earlier wish.
    package let maximumAge: Int
    /// Whether all hosts below this one are meant too.
    package let includesSubdomains: Bool

    package init(maximumAge: Int, includesSubdomains: Bool = false) {
        self.maximumAge = max(0, maximumAge)
        self.includesSubdomains = includesSubdomains
    }

    /// Reads the first field of a response; nil without a field, or without a valid `max-age`.
    package init?(_ fields: HTTPFields) {
        // Of several fields, only the first counts (RFC 6797, section 8.1).
        guard let value = fields.firstValue(of: .strictTransportSecurity) else { return nil }
        self.init(value)
    }

    /// Parses a value.
    ///
    /// Names are compared without regard to case, and unknown directives are ignored. A value with a directive twice, or
    /// with an unclosed quotation, is invalid as a whole.
    package init?(_ value: String) {
        guard value.utf8.count <= 4096, let directives = Self.directives(of: value) else { return nil }
        guard Set(directives.map(\.name)).count == directives.count else { return nil }
        guard let age = directives.first(where: { $0.name == "max-age" })?.value, !age.isEmpty,
            age.allUTF8({ (0x30...0x39).contains($0) })
        else { return nil }
        // More digits than a number has mean a very long time.
        self.init(
            maximumAge: Int(age) ?? .max,
            includesSubdomains: directives.contains { $0.name == "includesubdomains" })
    }

    /// The directives between semicolons that are not in quotes; nil if a quotation has no end.
    private static func directives(of value: String) -> [(name: String, value: String?)]? {
        var parts: [[UInt8]] = [[]]
        var isQuoted = false
        var isEscaped = false
        for byte in value.utf8 {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
                continue
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
                continue
            } else if byte == UInt8(ascii: ";"), !isQuoted {
                parts.append([])
                continue
            }
            parts[parts.count - 1].append(byte)
        }
        guard !isQuoted else { return nil }
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        return parts.compactMap { part in
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let texts = halves.map { half in
                let end = half.lastIndex { !isBlank($0) }.map { half.index(after: $0) } ?? half.startIndex
                return String(decoding: half[..<end].drop(while: isBlank), as: UTF8.self)
            }
            guard let name = texts.first, !name.isEmpty else { return nil }
            return (name.lowercased(), texts.count > 1 ? texts[1] : nil)
        }
    }
}

extension ResponseMetadata.Source? {
    /// Whether a server has sent the fields of a response just now, or a test double in place of one.
    package var isServer: Bool { self == .network || self == .revalidated || self == .stub }
}
