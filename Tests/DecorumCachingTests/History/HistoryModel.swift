import Decorum
import Foundation

/// The answers that a cache may give: a read is compared with what had happened before it began.
enum HistoryModel {
    /// The parts of a request by which a server chooses its content.
    struct Choice: Sendable, Hashable {
        var principal = 0
        var uri = 0
        /// The number of the cookie; 0 for a request without one.
        var cookie = 0
        /// The number of the accepted type.
        var type = 0

        var kind: ResourceKind { ResourceKind(uri: uri) }
    }

    /// A read, and the facts of the moment at which it began.
    struct Read: Sendable {
        var wanted = Choice()
        /// The version that the last change of the resource had made, of those that had ended.
        var version = 0
        /// How many requests the server had received when the last sign-out began, of those that had ended; 0 without
        /// one.
        var signOut = 0
        /// How many requests the server had received.
        var sequence = 0
        /// The time, in seconds.
        var time = 0
    }

    /// The response to a read.
    struct Answer: Sendable {
        /// The content's label: what it was made for.
        var made = Choice()
        var version = 0
        /// Whether each byte is as the label says.
        var isWhole = true
        /// The number of the request with which the server has made or confirmed the content.
        var sequence = 0
        /// The time at which the server received that request, in seconds.
        var time = 0
        /// Whether it is the response to the request of another caller, which was under way.
        var isShared = false
    }

    enum Mistake: String, Sendable, CaseIterable {
        case otherPrincipal, otherCookie, otherType, otherResource
        /// It is from before a change that had ended.
        case outdated
        /// It is from before a sign-out that had ended.
        case beforeSignOut
        /// It is damaged, cut short, or put together from several.
        case mixed
        case tooOld
        /// The server should have been asked.
        case unconfirmed
    }

    /// Returns all that is wrong with an answer.
    static func mistakes(in answer: Answer, to read: Read) -> Set<Mistake> {
        guard answer.isWhole else { return [.mixed] }
        guard answer.made.uri == read.wanted.uri else { return [.otherResource] }

        let kind = read.wanted.kind
        let isAsked = answer.sequence > read.sequence
        // A fresh response to a request without a cookie may answer one with a cookie.
        let mayHaveCookie = answer.made.cookie == 0 || answer.made.cookie == read.wanted.cookie
        let checks: [(Mistake, Bool)] = [
            (.otherPrincipal, answer.made.principal != read.wanted.principal),
            (.otherCookie, kind == .byCookie && !mayHaveCookie),
            (.otherType, kind == .byType && answer.made.type != read.wanted.type),
            (.outdated, answer.version < read.version),
            (.beforeSignOut, answer.sequence <= read.signOut),
            (.tooOld, !isAsked && !answer.isShared && read.time - answer.time > ResourceKind.lifetime),
            (.unconfirmed, kind == .validated && !isAsked && !answer.isShared),
        ]
        return Set(checks.filter(\.1).map(\.0))
    }
}

/// The kinds of resources: how long a response may be used, and by what it is chosen.
enum ResourceKind: Int, Sendable, CaseIterable {
    case fresh, validated, byType, personal, byCookie, common, ranged, large

    /// The seconds for which responses are fresh, except those of ``validated``.
    static let lifetime = 30

    private static let list = Array(allCases)

    init(uri: Int) {
        self = Self.list[uri % Self.list.count]
    }

    var control: String {
        switch self {
        case .validated: "no-cache"
        case .personal: "private, max-age=\(Self.lifetime)"
        case .common: "public, max-age=\(Self.lifetime)"
        case .fresh, .byType, .byCookie, .ranged, .large: "max-age=\(Self.lifetime)"
        }
    }

    var hasTag: Bool { ![.fresh, .byType].contains(self) }
    var takesCookies: Bool { self == .byCookie || self == .common }
}

/// The results of a history.
struct HistoryTally: Sendable {
    private(set) var reads = 0
    private(set) var hits = 0
    private(set) var confirmed = 0
    private(set) var shared = 0
    /// How often each mistake was made, and how often a read failed.
    private(set) var mistakes: [HistoryModel.Mistake: Int] = [:]
    private(set) var failures = 0
    /// The first mistakes and failures, with the seeds that lead to them.
    private(set) var examples: [String] = []

    var isRight: Bool { mistakes.isEmpty && failures == 0 }

    mutating func judge(_ response: Response, _ content: Data, for read: HistoryModel.Read, _ name: String) {
        reads += 1
        hits += response.metadata.source == .cache ? 1 : 0
        confirmed += response.metadata.source == .revalidated ? 1 : 0
        shared += response.metadata.isCoalesced ? 1 : 0
        let answer = HistoryModel.Answer(response, content)
        let made = HistoryModel.mistakes(in: answer, to: read)
        guard !made.isEmpty else { return }
        for mistake in made { mistakes[mistake, default: 0] += 1 }
        note("\(name): \(made.map(\.rawValue).sorted()), \(response.metadata.source ?? .stub), \(answer) to \(read)")
    }

    mutating func fail(_ error: any Error, _ name: String) {
        guard !(error is CancellationError) else { return }
        failures += 1
        note("\(name): \(error)")
    }

    mutating func add(_ other: HistoryTally) {
        reads += other.reads
        hits += other.hits
        confirmed += other.confirmed
        shared += other.shared
        failures += other.failures
        mistakes.merge(other.mistakes, uniquingKeysWith: +)
        for example in other.examples { note(example) }
    }

    private mutating func note(_ example: String) {
        if examples.count < 5 { examples.append(example) }
    }
}

extension HistoryTally: CustomStringConvertible {
    var description: String {
        let counts = mistakes.map { "\($0.key): \($0.value)" }.sorted().joined(separator: ", ")
        return """
            \(reads) reads, \(hits) hits, \(confirmed) confirmed, \(shared) shared; \(failures) failures, [\(counts)]
            \(examples.joined(separator: "\n"))
            """
    }
}
