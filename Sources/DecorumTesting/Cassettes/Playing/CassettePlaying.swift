public import Decorum
import Foundation
import HTTPTypes
import Synchronization

extension Cassette {
    /// Takes the interaction that answers a request.
    ///
    /// - Throws: ``CassetteMissError`` if no interaction does.
    func play(_ request: RecordedRequest) throws -> RecordedOutcome {
        let matched = matchedAsWhole(request)
        let (finding, number) = try take(request, matched: matched.map { [$0] }, orElse: .missed)
        if case .interaction(let ordinal) = finding { return try outcome(at: ordinal, for: request) }
        return try missed(matched ?? matchable(request), finding, number: number)
    }

    /// Takes the interaction that answers one of several versions of a request; of several, the first in the file.
    ///
    /// - Throws: ``CassetteMissError`` if no interaction does.
    func play(anyOf versions: [RecordedRequest]) throws -> RecordedOutcome {
        let versions = versions.map(matchable)
        let first = versions.first ?? RecordedRequest(method: "", url: "")
        let (finding, number) = try take(first, matched: versions, orElse: .missed)
        if case .interaction(let ordinal) = finding { return try content.outcome(at: ordinal) }
        return try missed(first, finding, number: number)
    }

    /// Takes the interaction that answers a request; returns nil if no interaction does.
    func playIfRecorded(_ request: RecordedRequest) throws -> RecordedOutcome? {
        let matched = matchedAsWhole(request)
        let finding = try take(request, matched: matched.map { [$0] }, orElse: .sent).finding
        guard case .interaction(let ordinal) = finding else { return nil }
        return try outcome(at: ordinal, for: request)
    }

    /// The outcome of an interaction, whose answer leads to the origin of the live request in place of the recorded one.
    private func outcome(at ordinal: Int, for request: RecordedRequest) throws -> RecordedOutcome {
        var outcome = try content.outcome(at: ordinal)
        if let fields = outcome.response?.fields,
            let move = MovedOrigin(from: content.url(at: ordinal), to: request.url)
        {
            outcome.response?.fields = move.applied(to: fields)
        }
        return outcome
    }

    /// The request as it is matched; a closure of the rules sees each request once.
    private func matchable(_ request: RecordedRequest) -> RecordedRequest {
        redactor.matchable(rules.beforeMatching?(Interaction(request: request))?.request ?? request)
    }

    /// The request as it is matched; nil if neither a rule nor its content needs the fields.
    private func matchedAsWhole(_ request: RecordedRequest) -> RecordedRequest? {
        let isTargetAlone = request.body.bytes.isEmpty && !readsFields && rules.beforeMatching == nil
        return isTargetAlone ? nil : matchable(request)
    }

    /// Takes the interaction that answers a request.
    ///
    /// `matched` are its versions as they are matched; nil for one whose target alone matters.
    private func take(
        _ request: RecordedRequest, matched: [RecordedRequest]?, orElse outcome: RequestExplanation.Outcome
    ) throws -> (finding: PlaybackIndex.Finding, number: Int) {
        func recorded(_ ordinal: Int) throws -> RecordedRequest? {
            // The target is in the index already, so a request without content has nothing else to match.
            guard readsFields || content.hasContent(at: ordinal) else { return nil }
            return redactor.matchable(try content.request(at: ordinal))
        }
        func find(in index: inout PlaybackIndex) throws -> PlaybackIndex.Finding {
            if let matched, matched.count != 1 { return try index.take(anyOf: matched, recorded: recorded) }
            let preference = PlaceholderPreference(request: request, content: content)
            if let only = matched?.first { return try index.take(only, recorded: recorded, preferring: preference) }
            if let finding = try index.take(written: request, recorded: recorded, preferring: preference) {
                return finding
            }
            let target = RecordedRequest(method: request.method, url: redactor.matchable(url: request.url))
            return try index.take(target, recorded: recorded, preferring: preference)
        }
        let (finding, number, played) = try state.withLock { state in
            state.requestCount += 1
            let played = explainer == nil ? [] : state.index.played
            let finding = try find(in: &state.index)
            if case .interaction(let ordinal) = finding {
                state.replayCount += 1
                if state.answered[ordinal] == nil {
                    state.answered[ordinal] = (state.requestCount, request.fields.contains(.authorization))
                }
            }
            return (finding, state.requestCount, played)
        }
        if let explainer {
            let answer: RequestExplanation.Outcome? =
                if case .interaction(let ordinal) = finding { .answered(by: ordinal + 1) } else { nil }
            try explainer.explain(
                matched?.first ?? matchable(request), number: number, answer ?? outcome,
                played: played, in: self)
        }
        return (finding, number)
    }

    private func missed(
        _ request: RecordedRequest, _ finding: PlaybackIndex.Finding, number: Int
    ) throws -> RecordedOutcome {
        let miss = try CassetteMissError(request, number: number, finding: finding, in: self)
        switch rules.onMiss?(miss, request) ?? .fail {
        case .fail: keep(miss)
        case .tolerate: break
        case .answer(let response): return RecordedOutcome(response: response, failure: nil)
        }
        throw miss
    }

    /// Keeps the failure of a request, so that ``Cassette/finish()`` throws it whatever became of it.
    func keep(_ failure: any Error) { state.withLock { $0.failures.append(failure) } }

    /// The response of an interaction, or its failure, to a request whose limits end the waits of the replay.
    func played(
        _ outcome: RecordedOutcome, for request: RecordedRequest, to sent: borrowing Request
    ) async throws -> Response {
        var waits: PlayedWait?
        if rules.timing.mayWait || outcome.failure != nil { waits = try PlayedWait(for: sent, on: clock) }
        guard let response = outcome.response else {
            try await outcome.failure?.play(waiting: waits)
            throw CassetteError(file: file.relativePath, reason: "an interaction has neither a response nor an error")
        }
        var metadata = ResponseMetadata(answering: sent, from: .cassette)
        if let ordinal = outcome.ordinal {
            // A stored response outlives the test, whose cassette ends with it.
            metadata.recordingPlace = { [content, file] in
                InteractionPlace.address(in: file, line: content.line(of: ordinal))
            }
        }
        guard let failure = outcome.failure else {
            return Response(playing: response, metadata, timing: rules.timing, waits: waits, fail: nil)
        }
        let ordinal = outcome.ordinal
        return Response(playing: response, metadata, timing: rules.timing, waits: waits) { [self, waits] in
            guard failure.isCut else { return try await failure.play(waiting: waits) }
            throw ended(response, at: ordinal, for: request)
        }
    }

    /// The error of a test that reads more than is recorded, which is kept.
    private func ended(
        _ response: RecordedResponse, at ordinal: Int?, for request: RecordedRequest
    ) -> RecordingEndedError {
        let request = matchable(request)
        let scanner = SecretScanner(rules)
        let recording = ordinal.flatMap { ordinal in
            (try? content.interaction(at: ordinal)).map { interaction in
                MissReport(scanner: scanner).text(
                    redactor.shown(interaction), name: "interaction \(ordinal + 1) of \(file.lastPathComponent)")
            }
        }
        let error = RecordingEndedError(
            request: scanner.masked("\(request.method) \(request.url)"),
            length: response.body.bytes.count, file: file.relativePath,
            advice: adviceToRecord(or: "`CASSETTE=append` records it again"), report: recording ?? "")
        keep(error)
        return error
    }
}

/// The change of a recorded answer for a request to another origin than the recorded one, as ``MatchingRule/pathAndQuery`` allows.
///
/// A client that follows a URL of the answer must stay at the server that it has asked. So a URL of the recorded origin gets
/// the origin of the request where a client follows it: in `Location`, `Content-Location` (RFC 9110) and `Link` (RFC 8288).
struct MovedOrigin {
    private static let fields = [.location, .contentLocation, HTTPField.Name("Link")].compactMap(\.self)

    private let recorded: Substring
    private let asked: Substring

    /// The change from the recorded URL to the live one; nil if their origins are the same.
    init?(from recorded: String, to asked: String) {
        // Nearly every URL is the recorded one, and to find an origin takes far longer than to compare.
        guard recorded != asked else { return nil }
        (self.recorded, self.asked) = (Self.origin(of: recorded), Self.origin(of: asked))
        guard !self.recorded.isEmpty, !self.asked.isEmpty, self.recorded != self.asked else { return nil }
    }

    func applied(to fields: HTTPFields) -> HTTPFields {
        var fields = fields
        for index in fields.indices where Self.fields.contains(fields[index].name) {
            fields[index].value = applied(to: fields[index].value)
        }
        return fields
    }

    /// A value in which each URL of the recorded origin has the other one; such a URL begins the value, or stands in `<` and `>`.
    private func applied(to value: String) -> String {
        var moved = ""
        var rest = value[...]
        while let found = rest.firstRange(of: recorded) {
            let (before, after) = (value[..<found.lowerBound].last, value[found.upperBound...].first)
            let isURL = before.map { $0 == "<" } ?? true
            let isWhole = after.map { "/?#>".contains($0) } ?? true
            moved += rest[..<found.lowerBound] + (isURL && isWhole ? asked : recorded)
            rest = rest[found.upperBound...]
        }
        return moved + rest
    }

    /// The scheme and the authority of a URL; empty for another text.
    static func origin(of url: String) -> Substring {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        return url[..<(url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex)]
    }
}

/// A test has played recordings that are older than the rules allow.
///
/// See ``CassetteRules/Expiry``.
public struct OutdatedRecordingsError: Error, Hashable, Sendable {
    /// The path of the cassette.
    public let file: String
    /// The day of each recording, with the method and the URL, redacted.
    public let recordings: [String]
    let advice: String
}

extension OutdatedRecordingsError: DescribableError {
    /// Their number, their days and requests, and how to record them anew.
    public var description: String {
        "Of the cassette \(file), \(recordings.count) recording\(recordings.count == 1 ? " is" : "s are") older than the rules "
            + "allow:\(listed(recordings))\n"
            + "fix: \(advice); or raise `rules.expiry`"
    }
}

extension Cassette {
    func checkAge() throws {
        let outdated = outdated
        guard !outdated.isEmpty else { return }
        let scanner = SecretScanner(rules)
        throw OutdatedRecordingsError(
            file: file.relativePath,
            recordings: try outdated.map { ordinal in
                let request = redactor.matchable(try content.request(at: ordinal))
                let day = content.recordedAt(ordinal).map(RecordedDay.text) ?? ""
                return scanner.masked("\(day)  \(request.method) \(request.url)")
            },
            advice: adviceToRecord(or: "`CASSETTE=rewrite` records it anew"))
    }
}

/// Finds the interaction that answers a request, by keys, in a time that does not depend on the number of interactions.
///
/// Interactions are first distinguished by method and URL, which are available without decoding. Only interactions that
/// share both are decoded for the other rules, and only when the first request comes that could match one of them.
struct PlaybackIndex: Sendable {
    enum Finding: Equatable {
        case interaction(Int)
        /// All matching interactions have been played.
        case played([Int])
        case nothing
    }

    /// Gives the request of an interaction; nil if only its method and its URL matter.
    typealias Recorded = (_ ordinal: Int) throws -> RecordedRequest?

    struct Key: Hashable {
        var bytes: [UInt8] = []

        func hash(into hasher: inout Hasher) {
            // An array hashes each of its bytes by itself, which takes far longer. The pointer does not escape.
            unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        }

        /// Whether it is the key by the default rules of a method and a URL as they are written.
        func isWritten(_ method: String, _ url: String) -> Bool {
            let count = method.utf8.count
            guard bytes.count == count + url.utf8.count + 2, bytes[count] == 0, bytes.last == 0 else { return false }
            // Each interaction of a file is compared when it is opened, and slices compare ten times as slowly.
            var index = count + 1
            for byte in url.utf8 {
                guard bytes[index] == byte else { return false }
                index += 1
            }
            return bytes.starts(with: method.utf8)
        }
    }

    private struct Group {
        let first: Int
        var further: [Int] = []
        /// By the key of all other rules; nil until the first request comes.
        var queues: [Key: Queue]?
        /// The keys of the queues that hold placeholders; nil until a request matches no queue exactly.
        var templates: KeyTemplates?
    }

    private struct Queue {
        var ordinals: [Int] = []
        var next = 0

        var upcoming: Int? { next < ordinals.count ? ordinals[next] : nil }

        mutating func advance(past taken: Set<Int>) {
            while let upcoming, taken.contains(upcoming) { next += 1 }
        }
    }

    private typealias Place = (group: Int, key: Key)

    private let rules: CassetteRules
    /// The rules for method and URL, and all others; a copy of the rules themselves would count many references.
    private let targetKeys: [MatchingRule.Key]
    private let contentKeys: [MatchingRule.Key]
    /// The key by all other rules of a request without content, if no rule reads fields.
    private let contentlessKey: Key
    private let owners: InteractionOwners
    /// The interactions that are recorded again: each takes its turn, and answers nothing.
    private let mended: Set<Int>
    private var groups: [Group] = []
    /// By the key of method and URL, and by the method and the URL as they are written.
    private var groupNumbers: [Key: Int] = [:]
    /// The keys of groups that hold placeholders; nil until a request matches no group exactly.
    private var templates: KeyTemplates?
    private(set) var count = 0
    private(set) var cursor = 0
    /// The interactions that have had their turn: the played ones, and the ones that are recorded again.
    private var taken: Set<Int> = []
    var played: Set<Int> { taken.subtracting(mended) }

    init(
        count: Int, rules: CassetteRules, owners: InteractionOwners = InteractionOwners(), mended: Set<Int> = []
    ) {
        self.rules = rules
        targetKeys = rules.matching.filter(\.readsTargetAlone).map(\.appendKey)
        contentKeys = rules.matching.filter { !$0.readsTargetAlone }.map(\.appendKey)
        // A rule of the user's own sees no request that was not made.
        contentlessKey =
            rules.matching.contains(where: \.readsFields)
            ? Key() : Self.key(of: RecordedRequest(method: "", url: ""), contentKeys)
        self.owners = owners
        self.mended = mended
        groups.reserveCapacity(count)
        groupNumbers.reserveCapacity(count)
    }

    /// Creates an index; `targets` are requests of which only method and URL count.
    init(
        _ targets: some Collection<RecordedRequest>, rules: CassetteRules,
        owners: InteractionOwners = InteractionOwners()
    ) {
        self.init(count: targets.count, rules: rules, owners: owners)
        for target in targets {
            if owners.withheld.contains(count) { skip() } else { append(target) }
        }
    }

    /// Appends an interaction, with a request of which only method and URL count.
    ///
    /// `url` is its URL as it is written, before it was redacted.
    mutating func append(_ target: RecordedRequest, writtenAs url: String? = nil) {
        let key = Self.key(of: target, targetKeys)
        let number = groupNumbers[key] ?? groups.count
        if number == groups.count {
            groups.append(Group(first: count))
            groupNumbers[key] = number
        } else {
            groups[number].further.append(count)
        }
        count += 1
        // Nearly every URL is its own key.
        guard let url, !key.isWritten(target.method, url) else { return }
        let written = Self.written(target.method, url)
        if groupNumbers[written] == nil { groupNumbers[written] = number }
    }

    mutating func skip() { count += 1 }

    mutating func skip(_ ordinals: [Int], recorded: Recorded) throws {
        for ordinal in ordinals where taken.insert(ordinal).inserted {
            guard let request = try recorded(ordinal) else { continue }
            guard let group = groupNumbers[Self.key(of: request, targetKeys)] else { continue }
            try fillQueues(of: group, recorded)
            let content = Self.key(of: request, contentKeys)
            groups[group].queues?[content]?.advance(past: taken)
        }
        while taken.contains(cursor) { cursor += 1 }
    }

    /// Takes the next interaction for a request; of several, the one that `preference` prefers.
    mutating func take(
        _ request: RecordedRequest, recorded: Recorded, preferring preference: PlaceholderPreference? = nil
    ) throws -> Finding {
        guard let place = try place(of: request, recorded) else { return .nothing }
        return try take(at: place, preferring: preference)
    }

    /// Takes the next interaction for a request without content that is not redacted, if its method and its URL are
    /// written like the ones of a recorded one; nil if they are not, or if only requests with content are recorded.
    ///
    /// No rule may read fields. Most requests are found so, without a search for secrets in them.
    mutating func take(
        written request: RecordedRequest, recorded: Recorded, preferring preference: PlaceholderPreference?
    ) throws -> Finding? {
        guard let group = groupNumbers[Self.written(request.method, request.url)] else { return nil }
        try fillQueues(of: group, recorded)
        let content = contentlessKey
        guard groups[group].queues?[content] != nil else { return nil }
        return try take(at: (group, content), preferring: preference)
    }

    /// Takes the next interaction for a request in several versions: the first that matches any version.
    mutating func take(anyOf requests: [RecordedRequest], recorded: Recorded) throws -> Finding {
        var findings: [(order: (Int, Int), request: RecordedRequest)] = []
        for request in requests {
            guard let place = try place(of: request, recorded), case .interaction(let ordinal) = find(at: place) else {
                continue
            }
            findings.append(((taken.contains(ordinal) ? 1 : 0, ordinal), request))
        }
        guard let first = findings.min(by: { $0.order < $1.order })?.request ?? requests.first else { return .nothing }
        return try take(first, recorded: recorded)
    }

    private mutating func take(at place: Place, preferring preference: PlaceholderPreference?) throws -> Finding {
        guard case .interaction(var ordinal) = find(at: place), let queue = groups[place.group].queues?[place.key]
        else {
            return find(at: place)
        }
        if rules.order == .any, let preference, queue.ordinals.count - queue.next > 1 {
            let left = queue.ordinals[queue.next...].lazy.filter { [taken] in !taken.contains($0) }
            if let other = try preference.first(of: Array(left.prefix(PlaceholderPreference.limit))) { ordinal = other }
        }
        if taken.insert(ordinal).inserted { groups[place.group].queues?[place.key]?.advance(past: taken) }
        cursor = max(cursor, ordinal + 1)
        if rules.order == .strict { while taken.contains(cursor) { cursor += 1 } }
        return mended.contains(ordinal) ? .nothing : .interaction(ordinal)
    }

    private func find(at place: Place) -> Finding {
        guard let queue = groups[place.group].queues?[place.key], let last = queue.ordinals.last else {
            return .nothing
        }
        if let ordinal = queue.upcoming {
            return rules.order == .any || ordinal == cursor ? .interaction(ordinal) : .nothing
        }
        return rules.repeats == .last ? .interaction(last) : .played(queue.ordinals)
    }

    /// The place of the interactions that a request matches exactly, or else except for a secret.
    private mutating func place(of request: RecordedRequest, _ recorded: Recorded) throws -> Place? {
        let target = Self.key(of: request, targetKeys)
        let content = Self.key(of: request, contentKeys)
        let group = groupNumbers[target]
        if let group {
            try fillQueues(of: group, recorded)
            if groups[group].queues?[content] != nil { return (group, content) }
        }
        if templates == nil { templates = KeyTemplates(groupNumbers.keys.lazy.map(\.bytes)) }
        let similar = (templates?.matches(target.bytes) ?? []).compactMap { groupNumbers[Key(bytes: $0)] }
        let places = try (similar + (group.map { [$0] } ?? [])).flatMap { group -> [Place] in
            try fillQueues(of: group, recorded)
            if groups[group].queues?[content] != nil { return [(group, content)] }
            return keys(like: content, in: group).map { (group, $0) }
        }
        return places.min { urgency(of: $0) < urgency(of: $1) }
    }

    private mutating func keys(like key: Key, in group: Int) -> [Key] {
        if groups[group].templates == nil {
            groups[group].templates = KeyTemplates((groups[group].queues ?? [:]).keys.lazy.map(\.bytes))
        }
        return (groups[group].templates?.matches(key.bytes) ?? []).map(Key.init)
    }

    /// Unplayed interactions come first, in the order of the file.
    private func urgency(of place: Place) -> (Int, Int) {
        guard let queue = groups[place.group].queues?[place.key] else { return (2, 0) }
        return queue.upcoming.map { (0, $0) } ?? (1, queue.ordinals.first ?? 0)
    }

    private mutating func fillQueues(of group: Int, _ recorded: Recorded) throws {
        guard groups[group].queues == nil else { return }
        var queues: [Key: Queue] = [:]
        let ordinals = [groups[group].first] + groups[group].further
        // A test that has recorded a request gets its own answers first, and then the ones that belong to no test. Answers of
        // other tests are the last resort.
        for rank in 0...2 {
            let ranked = rank == 2 ? Set(queues.keys) : []
            for ordinal in ordinals where self.rank(of: ordinal) == rank {
                let key = try recorded(ordinal).map { Self.key(of: $0, contentKeys) } ?? contentlessKey
                if !ranked.contains(key) { queues[key, default: Queue()].ordinals.append(ordinal) }
            }
        }
        groups[group].queues = queues
    }

    private func rank(of ordinal: Int) -> Int {
        owners.foreign.contains(ordinal) ? 2 : owners.areOf(ordinal) ? 0 : 1
    }

    private static func key(of request: RecordedRequest, _ rules: [MatchingRule.Key]) -> Key {
        var key = Key()
        // A URL without a path gets a slash.
        key.bytes.reserveCapacity(request.method.utf8.count + request.url.utf8.count + 3)
        for append in rules {
            append(request, &key.bytes)
            key.bytes.append(0)
        }
        return key
    }

    /// The key by the default rules of a method and a URL as they are written.
    private static func written(_ method: String, _ url: String) -> Key {
        var key = Key()
        key.bytes.reserveCapacity(method.utf8.count + url.utf8.count + 2)
        for text in [method, url] {
            key.bytes += text.utf8
            key.bytes.append(0)
        }
        return key
    }
}

/// The choice among recordings that answer a request equally well: the one with the placeholders that the request holds.
///
/// Requests are compared without their secrets. So where two users ask for the same URL, each with a token from a login
/// that was played, only the placeholder tells which recording is whose.
struct PlaceholderPreference {
    /// Further recordings are not compared, since each takes time.
    static let limit = 20

    let request: RecordedRequest
    let content: CassetteContent

    func first(of ordinals: [Int]) throws -> Int? {
        guard ordinals.count > 1 else { return nil }
        let names = content.placeholders
        let wanted = request.placeholders(named: names != nil)
        guard !wanted.isEmpty else { return nil }
        return try ordinals.first { ordinal in
            try wanted.isSubset(of: names?[ordinal] ?? content.request(at: ordinal).placeholders(named: false))
        }
    }
}
