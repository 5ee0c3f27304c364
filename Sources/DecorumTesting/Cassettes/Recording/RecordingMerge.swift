import Decorum
import Foundation
import HTTPTypes
import Synchronization

enum SavedInteraction: Sendable {
    /// An interaction of the current file, by its place: it is neither read nor written anew.
    case existing(Int)
    case recorded(Interaction)
}

/// Merges the interactions of a file with new recordings.
///
/// Two recordings are the same only if both their requests and their answers are: equal requests with other answers stay,
/// one after the other, so that none is lost.
struct RecordingMerge {
    private typealias Key = [[UInt8]]

    let rules: CassetteRules
    let redactor: CassetteRedactor
    let content: CassetteContent
    /// The content of which unchanged interactions are kept, with their day and their fields, so that recording an
    /// unchanged server anew does not change the file.
    let original: CassetteContent
    /// The content of the file when the test opened it; nil if that is the current one.
    let opened: CassetteContent?
    let isPartial: Bool
    let expiry: Date?

    func merged(_ recorded: [Interaction], _ way: CassetteCourse.Merge) throws -> [SavedInteraction] {
        switch way {
        case .nothing: return (0..<content.count).map { .existing($0) }
        case .addition:
            // Nothing of the file is read where no recording can take the place of another.
            guard (0..<content.count).contains(where: { content.isMendable(at: $0, expiry: expiry) }) else {
                return (0..<content.count).map { .existing($0) } + recorded.map { .recorded($0) }
            }
            return try joined(recorded, of: nil)
        case .replacement:
            return unchanged(recorded, since: content).map { $1.map { .existing($0) } ?? .recorded($0) }
        case .union:
            let recorded = try unchanged(recorded, since: original).map { interaction, ordinal in
                try ordinal.map { try original.interaction(at: $0) } ?? interaction
            }
            return try sorted(joined(recorded, of: nil, isUnion: true))
        case .test(let test, let isReplaced):
            return try sorted(joined(recorded, of: test, isReplaced: isReplaced))
        }
    }

    /// The recordings, each with the place of the interaction in an earlier file that has the same answer.
    ///
    /// An interaction that cannot be read, such as one whose content file is lost, counts as changed.
    private func unchanged(
        _ recorded: [Interaction], since earlier: CassetteContent
    ) -> [(interaction: Interaction, ordinal: Int?)] {
        guard earlier.count > 0 else { return recorded.map { ($0, nil) } }
        var known = ordinals(of: earlier, answering: recorded)
        return recorded.map { interaction in
            guard let old = known[key(of: redactor.matchable(interaction.request))]?.popFirst(),
                isSame(interaction, at: old, of: earlier)
            else { return (interaction, nil) }
            return (interaction, old)
        }
    }

    /// The order of a file that several tests or processes write, which does not depend on which of them was first.
    ///
    /// Equal requests are in the order of the tests' names, and the requests of one test in its own order. If an older file
    /// has interactions of several tests among them, they stay in their order, which each of these tests needs.
    private func sorted(_ interactions: [SavedInteraction]) throws -> [SavedInteraction] {
        let entries: [(text: RequestText, tests: [String])] = try interactions.map { saved in
            switch saved {
            case .existing(let ordinal): (text(of: try content.target(at: ordinal)), content.tests(of: ordinal))
            case .recorded(let interaction): (text(of: interaction.request), interaction.tests)
            }
        }
        let byText = interactions.indices.sorted { (entries[$0].text, $0) < (entries[$1].text, $1) }
        var order: [Int] = []
        while order.count < byText.count {
            let rest = byText[order.count...]
            let equal = rest.prefix { entries[$0].text == entries[byText[order.count]].text }
            let isMixed = equal.contains { entries[$0].tests.count > 1 }
            order +=
                isMixed
                ? Array(equal)
                : equal.sorted { (entries[$0].tests.first ?? "", $0) < (entries[$1].tests.first ?? "", $1) }
        }
        return order.map { interactions[$0] }
    }

    /// The text by which a request is ordered; its fields do not matter.
    private func text(of request: RecordedRequest) -> RequestText {
        guard request.body.bytes.isEmpty else { return RequestText(redactor.matchable(request)) }
        return RequestText(RecordedRequest(method: request.method, url: redactor.matchable(url: request.url)))
    }

    private func isSame(_ recorded: Interaction, at ordinal: Int, of earlier: CassetteContent) -> Bool {
        guard !earlier.isMendable(at: ordinal, expiry: expiry), let old = try? earlier.interaction(at: ordinal) else {
            return false
        }
        return essence(of: old) == essence(of: recorded)
    }

    /// The part of an interaction that stays when the same traffic is recorded again, and the normal form of its content.
    ///
    /// It lacks what is made anew for each run: dates, the rest of a rate limit, the order of the members of a JSON body, the
    /// boundary of a multipart body, identifiers of requests, and whatever the rules of matching ignore in a URL and a body.
    private func essence(of recorded: Interaction) -> (Interaction, [UInt8]) {
        var essence = recorded
        (essence.recordedAt, essence.tests) = (nil, [])
        let mediaType = recorded.request.fields[.contentType]
        let ignoredPaths = rules.matching.first { $0.subject == .body }?.ignoredPaths ?? .none
        let content = BodyKey.key(of: recorded.request.body.bytes, mediaType: mediaType, ignoring: ignoredPaths)
        essence.request.body.bytes = Data()
        if let rule = rules.matching.first(where: { $0.subject == .url }) {
            essence.request.url = String(decoding: rule.key(recorded.request), as: UTF8.self)
        }
        if ContentKind(mediaType: mediaType) == .multipart {
            essence.request.fields[.contentType] = mediaType.map { String($0.prefix { $0 != ";" }) }
            essence.request.fields[.contentLength] = nil
        }
        for name in CassetteRules.volatileRequestFields.union(rules.ignoredFields) {
            essence.request.fields[name] = nil
        }
        essence.response?.chunks = []
        for name in Self.changingFields { essence.response?.fields[name] = nil }
        return (essence, content)
    }

    private static let changingFields: [HTTPField.Name] =
        [.date, .age, .expires, .lastModified]
        + ["RateLimit", "RateLimit-Reset", "RateLimit-Remaining"]
        .flatMap { [$0, "X-\($0)"] }.compactMap { HTTPField.Name($0) }

    /// The places of the interactions of a file that may answer the requests of some recordings, or that are `included`,
    /// by their keys; an interaction that cannot be read is left out.
    ///
    /// Methods and URLs are compared first, since reading a request takes far longer.
    private func ordinals(
        of content: CassetteContent, answering recorded: [Interaction],
        including included: (Int) -> Bool = { _ in false }
    ) -> [Key: ArraySlice<Int>] {
        let targetRules = rules.matching.filter(\.readsTargetAlone)
        let asked = Set(
            recorded.map { interaction in
                let request = interaction.request
                return targetRules.map {
                    $0.key(RecordedRequest(method: request.method, url: redactor.matchable(url: request.url)))
                }
            })
        var ordinals: [Int] = []
        var ordinal = 0
        content.forEachTarget { target in
            defer { ordinal += 1 }
            target.url = redactor.matchable(url: target.url)
            let target = target
            if included(ordinal) || asked.contains(targetRules.map { $0.key(target) }) { ordinals.append(ordinal) }
        }
        let keys = ordinals.compactMap { ordinal in
            (try? content.request(at: ordinal, for: rules.matching)).map {
                (ordinal, key: key(of: redactor.matchable($0)))
            }
        }
        return Dictionary(grouping: keys) { $0.key }.mapValues { $0.map(\.0)[...] }
    }

    private func key(of request: RecordedRequest) -> Key { rules.matching.map { $0.key(request) } }

    private struct Kept {
        var tests: [String]
        var isDropped = false
        /// The recording that takes its place.
        var mending: Interaction?

        /// Whether a test is answered by it before all others; without a suite, each interaction answers every test.
        func belongs(to test: String?) -> Bool { tests.isEmpty || test.map(tests.contains) ?? true }

        /// Takes the interaction from a test; one that then belongs to no test is dropped.
        mutating func leave(_ test: String?) {
            tests.removeAll { $0 == test }
            isDropped = test == nil || tests.isEmpty
        }
    }

    /// The interactions of the file, where the recordings of one test are added to its earlier ones, or replace them.
    ///
    /// A recording takes the place of an incomplete or outdated interaction for the same request. It is never that of another
    /// test, even with the same answer, since it would depend on chance, such as the time in an answer, which of them are the
    /// same. The equal requests of a test keep their order, so a recording is never the same as one before an interaction
    /// that the test has got already, except in a union. An interaction of no test is replaced if the test has recorded its
    /// request, unless only some tests run, since others may play it. Of two processes that record one test at the same
    /// time, the one that ends last has it.
    private func joined(
        _ recorded: [Interaction], of test: String?, isReplaced: Bool = false, isUnion: Bool = false
    ) throws -> [SavedInteraction] {
        var kept = (0..<content.count).map { Kept(tests: content.tests(of: $0)) }
        let ordinals = ordinals(of: content, answering: recorded) { test != nil && kept[$0].belongs(to: test) }
        let known = isReplaced || isUnion ? [] : known(to: test, ordinals, kept, recorded)
        // A further recording comes after the answers that the test has got already.
        var candidates = ordinals.mapValues { places in
            places.last(where: known.contains).map { last in places.drop { $0 <= last } } ?? places
        }
        var mended = ordinals.mapValues { places in
            places.filter { place in
                !isReplaced && kept[place].belongs(to: test) && content.isMendable(at: place, expiry: expiry)
            }[...]
        }
        var added: [Interaction] = []
        var matched: Set<Int> = []
        for var interaction in recorded {
            let key = key(of: redactor.matchable(interaction.request))
            interaction.tests = [test].compactMap(\.self)
            if let old = mended[key]?.popFirst() {
                matched.insert(old)
                if try interaction.mends(content.interaction(at: old), expiry: expiry) {
                    kept[old].mending = interaction
                    kept[old].leave(test)
                }
                continue
            }
            // Candidates up to the first one with the same answer are taken: one of the test, or else of no test.
            func isSame(_ place: Int) -> Bool { self.isSame(interaction, at: place, of: content) }
            let first =
                candidates[key]?.first { (test.map(kept[$0].tests.contains) ?? true) && isSame($0) }
                ?? candidates[key]?.first { kept[$0].tests.isEmpty && isSame($0) }
            candidates[key]?.removeAll { isUnion ? $0 == first : $0 <= first ?? $0 }
            guard let first else {
                added.append(interaction)
                continue
            }
            matched.insert(first)
            kept[first].tests = Set(kept[first].tests + interaction.tests).sorted()
        }
        let asked = isReplaced && !isPartial ? Set(recorded.map { key(of: redactor.matchable($0.request)) }) : []
        for (key, places) in ordinals {
            for place in places where test != nil && !matched.contains(place) && !known.contains(place) {
                let tests = kept[place].tests
                if tests.isEmpty ? asked.contains(key) : test.map(tests.contains) ?? false { kept[place].leave(test) }
            }
        }
        return try kept.enumerated().flatMap(saved) + added.map { .recorded($0) }
    }

    /// The interactions that answer a test before all others and were in the file when the test opened it.
    ///
    /// Another process that records the same test adds its interactions behind those.
    private func known(
        to test: String?, _ ordinals: [Key: ArraySlice<Int>], _ kept: [Kept], _ recorded: [Interaction]
    ) -> Set<Int> {
        let own = ordinals.mapValues { places in places.filter { kept[$0].belongs(to: test) } }
        guard let opened else { return Set(own.values.joined()) }
        func isOwn(_ place: Int) -> Bool { Kept(tests: opened.tests(of: place)).belongs(to: test) }
        let counts = self.ordinals(of: opened, answering: recorded, including: isOwn).mapValues {
            $0.count(where: isOwn)
        }
        return Set(own.flatMap { key, places in places.prefix(counts[key] ?? 0) })
    }

    private func saved(_ ordinal: Int, _ kept: Kept) throws -> [SavedInteraction] {
        let mending = kept.mending.map { [SavedInteraction.recorded($0)] } ?? []
        guard !kept.isDropped else { return mending }
        guard kept.tests != content.tests(of: ordinal) else { return [.existing(ordinal)] + mending }
        var interaction = try content.interaction(at: ordinal)
        interaction.tests = kept.tests
        return [.recorded(interaction)] + mending
    }
}

extension Interaction {
    /// Whether the interaction is better than an older one: it is whole, has more content, or the older one is outdated.
    fileprivate func mends(_ older: Interaction, expiry: Date?) -> Bool {
        if let expiry, let date = older.recordedAt, date < expiry { return true }
        guard failure?.kind == RecordedFailure.abandoned else { return true }
        return (response?.body.bytes.count ?? 0) > (older.response?.body.bytes.count ?? 0)
    }
}

extension CassetteContent {
    func mendable(expiry: Date?) -> Set<Int> {
        Set((0..<count).filter { isMendable(at: $0, expiry: expiry) })
    }

    /// Whether a new recording takes the place of an interaction: it ends before its response does, or is outdated.
    fileprivate func isMendable(at ordinal: Int, expiry: Date?) -> Bool {
        isCut(at: ordinal) || isOlder(ordinal, than: expiry)
    }

    /// Whether an interaction of a test was recorded before a date; false without a date.
    ///
    /// The interactions of other tests do not count, since the test does not record them anew.
    func isOutdated(before date: Date?, for opening: TestOpening?) -> Bool {
        guard date != nil else { return false }
        let owners = InteractionOwners(of: self, for: opening)
        return (0..<count).contains { owners.areOf($0) && isOlder($0, than: date) }
    }
}

extension Cassette {
    /// The recorded interactions, without their secrets, in the order of the file, and the redactor.
    ///
    /// A request that was not answered in time is left out.
    func recorded() throws -> (interactions: [Interaction], redactor: CassetteRedactor) {
        let recordings = state.withLock { $0.recordings }
        var recorded: [Interaction] = []
        var exchanges: [SendingOrder.Exchange] = []
        for (index, recording) in recordings.enumerated() {
            guard let answered = recording.answered, let interaction = try recording.interaction(),
                let interaction = try rules.rewritten(interaction, number: index + 1, of: file)
            else { continue }
            recorded.append(interaction)
            guard rules.order == .any else { continue }
            let text = RequestText(redactor.matchable(interaction.request))
            exchanges.append(.init(sent: recording.sent, answered: answered, text: text))
        }
        if rules.order == .any { recorded = SendingOrder.sorted(exchanges).map { recorded[$0] } }
        // The placeholders of other tests are not reserved, so that a test has the same ones whichever test was first.
        let foreign = InteractionOwners(of: opened, for: opening).foreign
        let naming = CassetteRedactor(rules, continuing: mode == .append ? opened.text(without: foreign) : [])
        return (naming.redacted(recorded), naming)
    }
}

extension CassetteRules {
    fileprivate func rewritten(_ interaction: Interaction, number: Int, of file: URL) throws -> Interaction? {
        var interaction = interaction
        if content == .decoded { interaction.decodeContent() }
        if let beforeRecording {
            guard let rewritten = beforeRecording(interaction) else { return nil }
            interaction = rewritten
        }
        if content == .decoded { try interaction.checkCoding(number: number, file: file.relativePath) }
        return interaction
    }
}

/// The order of a file: that in which requests were sent.
///
/// A request that was answered before another was sent comes before it. Requests that were under way at the same time
/// have no order of their own, because chance decides which task is first: among the requests that may come next, the first one
/// by URL, method and content does. The rule gives the same file in each run, whichever task was faster.
enum SendingOrder {
    struct Exchange {
        let sent: Int
        let answered: Int
        let text: RequestText
    }

    /// The indices of exchanges, which are given in the order of their sending, in the order of the file.
    static func sorted(_ exchanges: [Exchange]) -> [Int] {
        // Without exchanges at the same time, the order is given.
        guard zip(exchanges, exchanges.dropFirst()).contains(where: { $0.answered > $1.sent }) else {
            return Array(exchanges.indices)
        }
        let byText = exchanges.indices.sorted { (exchanges[$0].text, $0) < (exchanges[$1].text, $1) }
        var rank = Array(repeating: 0, count: exchanges.count)
        for (position, index) in byText.enumerated() { rank[index] = position }

        var answers = exchanges.indices.sorted { exchanges[$0].answered < exchanges[$1].answered }[...]
        var isPlaced = Array(repeating: false, count: exchanges.count)
        var order: [Int] = []
        var candidates: [Int] = []
        var next = 0
        while order.count < exchanges.count {
            while let first = answers.first, isPlaced[first] { answers.removeFirst() }
            // A request that was sent after the first answer that is left follows it.
            let limit = answers.first.map { exchanges[$0].answered } ?? .max
            while next < exchanges.count, exchanges[next].sent < limit {
                candidates.insert(rank[next], at: place(of: rank[next], in: candidates))
                next += 1
            }
            guard let first = candidates.popLast() else { break }
            isPlaced[byText[first]] = true
            order.append(byText[first])
        }
        return order
    }

    /// The place of a number among numbers in falling order.
    private static func place(of number: Int, in numbers: [Int]) -> Int {
        var range = numbers.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = numbers[middle] > number ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}

struct RequestText: Comparable {
    private let parts: [[UInt8]]

    init(_ request: RecordedRequest) {
        parts = [[UInt8](request.url.utf8), [UInt8](request.method.utf8), [UInt8](request.body.bytes)]
    }

    static func < (one: Self, other: Self) -> Bool {
        for (part, otherPart) in zip(one.parts, other.parts) where part != otherPart {
            return part.lexicographicallyPrecedes(otherPart)
        }
        return false
    }
}

extension Interaction {
    /// Undoes the content codings of both messages, if they are known here.
    ///
    /// A transport may have undone some before. The recorded chunks belong to the coded content, so they are dropped with it.
    mutating func decodeContent() {
        request.decodeContent()
        guard var decoded = response else { return }
        decoded.decodeContent(of: request.method)
        if let before = response?.coding, let rest = decoded.coding, rest != before {
            decoded.coding = "\(before), \(rest)"
        }
        if decoded.body != response?.body { decoded.chunks = [] }
        response = decoded
    }

    /// Throws if content has a coding that was not undone, because its secrets cannot be found.
    func checkCoding(number: Int, file: String) throws(CassetteError) {
        let messages = [
            ("request \(number)", request.fields, request.body),
            ("the response to request \(number)", response?.fields ?? [:], response?.body ?? RecordedBody()),
        ]
        for (place, fields, body) in messages where !body.bytes.isEmpty {
            guard let coding = fields[.contentEncoding],
                coding.lowercased().split(whereSeparator: { ", ".contains($0) }).contains(where: { $0 != "identity" })
            else { continue }
            throw CassetteError(
                file: file, place: place,
                reason:
                    "its Content-Encoding \(coding.debugDescription) cannot be undone, so secrets in it would not be "
                    + "found; ask for another coding, set `rules.content = .coded`, or change it in `rules.beforeRecording`"
            )
        }
    }
}

extension RecordedRequest {
    mutating func decodeContent() {
        guard !body.bytes.isEmpty, fields.contains(.contentEncoding) else { return }
        // The content of a request is coded by the same field and in the same codings.
        var message = RecordedResponse(status: 200, fields: fields, body: body)
        message.decodeContent(of: method)
        (fields, body) = (message.fields, message.body)
    }
}
