import Decorum
import Foundation

/// An interaction of a file that is to be written.
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
    let rules: CassetteRules
    let redactor: CassetteRedactor
    /// The current content of the file.
    let content: CassetteContent
    /// The content of which unchanged interactions are kept, with their day and their fields, so that recording an
    /// unchanged server anew does not change the file.
    let original: CassetteContent
    /// The content of the file when the test opened it; nil if that is the current one.
    let opened: CassetteContent?
    /// Whether only some tests of the suite run.
    let isPartial: Bool
    /// The date before which a recording is outdated; nil if none is.
    let expiry: Date?
    /// Whether recordings that differ only in the form of their placeholders are the same.
    private var isErasing = true

    init(
        rules: CassetteRules, redactor: CassetteRedactor, content: CassetteContent, original: CassetteContent,
        opened: CassetteContent?, isPartial: Bool, expiry: Date?
    ) {
        self.rules = rules
        self.redactor = redactor
        self.content = content
        self.original = original
        self.opened = opened
        self.isPartial = isPartial
        self.expiry = expiry
    }

    /// The interactions of the new file.
    ///
    /// If all recordings are the same as earlier ones except for the form of their placeholders, the earlier ones stay.
    /// If not, those with another placeholder are replaced, so that a secret has one placeholder. A request that has not
    /// changed stays as it is recorded, also where its answer has.
    func merged(_ recorded: [Interaction], _ way: CassetteCourse.Merge) throws -> [SavedInteraction] {
        let recorded = keepingRequests(of: recorded, way)
        let (unchanged, addedCount) = try joined(recorded, way)
        guard addedCount > 0 else { return unchanged }
        var merge = self
        merge.isErasing = false
        return try merge.joined(recorded, way).interactions
    }

    /// The interactions of the new file, and the number of recordings that are not the same as an earlier one.
    private func joined(
        _ recorded: [Interaction], _ way: CassetteCourse.Merge
    ) throws -> (interactions: [SavedInteraction], addedCount: Int) {
        switch way {
        case .nothing: return ((0..<content.count).map { .existing($0) }, 0)
        case .addition: return (try joined(recorded, isUnion: false), 0)
        case .replacement:
            let pairs = unchanged(recorded, since: content)
            return (pairs.map { $1.map { .existing($0) } ?? .recorded($0) }, pairs.count { $0.ordinal == nil })
        case .union:
            let pairs = unchanged(recorded, since: original)
            let recorded = try pairs.map { interaction, ordinal in
                try ordinal.map { try original.interaction(at: $0) } ?? interaction
            }
            let interactions = try joined(recorded, isUnion: true)
            return (try sorted(interactions), interactions.count - content.count)
        case .test(let test, let isReplaced):
            let (interactions, addedCount) = try joined(recorded, of: test, isReplaced: isReplaced)
            return (try sorted(interactions), addedCount)
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

    /// The interactions of the file and the recordings.
    ///
    /// A recording takes the place of an incomplete or outdated interaction for the same request. In a union, it counts
    /// as one that the file has, if the file has one for the same request with the same answer.
    private func joined(_ recorded: [Interaction], isUnion: Bool) throws -> [SavedInteraction] {
        let keys = recorded.map { key(of: redactor.matchable($0.request)) }
        var waiting = Dictionary(grouping: recorded.indices) { keys[$0] }.mapValues { $0[...] }
        var used: Set<Int> = []
        let existing: [SavedInteraction] = try (0..<content.count).map { ordinal in
            let isMendable = content.isMendable(at: ordinal, expiry: expiry)
            guard isUnion || isMendable, let queue = waiting[try key(of: content, at: ordinal)],
                let place = queue.firstIndex(where: {
                    isMendable || isSame(recorded[$0], at: ordinal, of: content)
                })
            else { return .existing(ordinal) }
            let match = queue[place]
            waiting[keys[match]]?.remove(at: place)
            used.insert(match)
            guard isMendable, try recorded[match].mends(content.interaction(at: ordinal), expiry: expiry) else {
                return .existing(ordinal)
            }
            return .recorded(recorded[match])
        }
        return existing + recorded.indices.filter { !used.contains($0) }.map { .recorded(recorded[$0]) }
    }

    /// The order of a file that several tests or processes write, which does not depend on which of them was first.
    ///
    /// Equal requests are in the order of the tests' names, and those of one test in its own order. Where an older file has
    /// interactions of several tests among them, they stay in their order, which each of these tests needs.
    private func sorted(_ interactions: [SavedInteraction]) throws -> [SavedInteraction] {
        let texts = try interactions.map { saved in
            switch saved {
            case .existing(let ordinal): text(of: try content.target(at: ordinal))
            case .recorded(let interaction): text(of: interaction.request)
            }
        }
        let tests = interactions.map { saved in
            switch saved {
            case .existing(let ordinal): content.tests(of: ordinal)
            case .recorded(let interaction): interaction.tests
            }
        }
        let byText = interactions.indices.sorted { (texts[$0], $0) < (texts[$1], $1) }
        var order: [Int] = []
        var start = byText.startIndex
        while start < byText.endIndex {
            let end = byText[start...].firstIndex { texts[$0] != texts[byText[start]] } ?? byText.endIndex
            let equal = byText[start..<end]
            let isMixed = equal.contains { tests[$0].count > 1 }
            order += isMixed ? Array(equal) : equal.sorted { (tests[$0].first ?? "", $0) < (tests[$1].first ?? "", $1) }
            start = end
        }
        return order.map { interactions[$0] }
    }

    /// The text by which a request is ordered; its fields do not matter.
    private func text(of request: RecordedRequest) -> RequestText {
        guard request.body.bytes.isEmpty else { return RequestText(redactor.matchable(request)) }
        return RequestText(RecordedRequest(method: request.method, url: redactor.matchable(url: request.url)))
    }

    /// Whether a recording has the same answer as an interaction of a file that may stay.
    func isSame(_ recorded: Interaction, at ordinal: Int, of earlier: CassetteContent) -> Bool {
        guard !earlier.isMendable(at: ordinal, expiry: expiry), let old = try? earlier.interaction(at: ordinal) else {
            return false
        }
        return InteractionEssence(old, rules, erasingPlaceholders: isErasing)
            == InteractionEssence(recorded, rules, erasingPlaceholders: isErasing)
    }

    /// The places of those interactions of a file that may answer the requests of some recordings, or that are `included`,
    /// by their keys; without those that cannot be read.
    ///
    /// Methods and URLs are compared first, since reading a request takes far longer.
    func ordinals(
        of content: CassetteContent, answering recorded: [Interaction],
        including included: (Int) -> Bool = { _ in false }
    ) -> [[[UInt8]]: ArraySlice<Int>] {
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
            (try? key(of: content, at: ordinal)).map { (ordinal: ordinal, key: $0) }
        }
        return Dictionary(grouping: keys) { $0.key }.mapValues { $0.map(\.ordinal)[...] }
    }

    /// The key of a request of a file, as it is matched.
    func key(of content: CassetteContent, at ordinal: Int) throws -> [[UInt8]] {
        key(of: redactor.matchable(try content.request(at: ordinal, for: rules.matching)))
    }

    func key(of request: RecordedRequest) -> [[UInt8]] {
        rules.matching.map { $0.key(request) }
    }
}

extension Interaction {
    /// Whether the interaction is better than an older one: it is whole, has more content, or the older one is outdated.
    func mends(_ older: Interaction, expiry: Date?) -> Bool {
        if let expiry, let date = older.recordedAt, date < expiry { return true }
        guard failure?.kind == RecordedFailure.abandoned else { return true }
        return (response?.body.bytes.count ?? 0) > (older.response?.body.bytes.count ?? 0)
    }
}
