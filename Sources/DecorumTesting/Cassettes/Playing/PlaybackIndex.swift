/// Finds the interaction that answers a request, by keys, in a time that does not depend on how many there are.
///
/// Interactions are first told apart by method and URL, which are at hand. Only those that share both are decoded to be
/// told apart by the other rules, and only when the first request comes that could be one of them.
struct PlaybackIndex: Sendable {
    typealias Key = [UInt8]

    /// What a request finds.
    enum Finding: Equatable {
        case interaction(Int)
        /// All that match have been played.
        case played([Int])
        case nothing
    }

    private enum Bucket {
        case undivided([Int])
        case divided([Key: Queue])
    }

    private struct Queue {
        var ordinals: [Int]
        var next = 0
    }

    private let rules: CassetteRules
    private var buckets: [Key: Bucket] = [:]
    private var cursor = 0
    private(set) var played: Set<Int> = []

    /// Creates an index; `targets` are requests of which only method and URL count.
    init(_ targets: some Sequence<RecordedRequest>, rules: CassetteRules) {
        self.rules = rules
        var ordinals: [Key: [Int]] = [:]
        for (ordinal, target) in targets.enumerated() {
            ordinals[key(of: target, forTarget: true), default: []].append(ordinal)
        }
        buckets = ordinals.mapValues { .undivided($0) }
    }

    /// Takes the next interaction for a request; `recorded` gives the request of an interaction.
    mutating func take(
        _ request: RecordedRequest, recorded: (Int) throws -> RecordedRequest
    ) throws -> Finding {
        let targetKey = key(of: request, forTarget: true)
        guard let bucket = buckets[targetKey] else { return .nothing }
        var queues = try divided(bucket, recorded)
        let restKey = key(of: request, forTarget: false)
        guard var queue = queues[restKey] else {
            buckets[targetKey] = .divided(queues)
            return .nothing
        }
        let finding = finding(&queue)
        queues[restKey] = queue
        buckets[targetKey] = .divided(queues)
        return finding
    }

    private mutating func finding(_ queue: inout Queue) -> Finding {
        let ordinal: Int
        if queue.next < queue.ordinals.count {
            ordinal = queue.ordinals[queue.next]
            guard rules.order == .any || ordinal == cursor else { return .nothing }
            queue.next += 1
        } else if rules.repeats == .last, let last = queue.ordinals.last {
            ordinal = last
        } else {
            return .played(queue.ordinals)
        }
        cursor = max(cursor, ordinal + 1)
        played.insert(ordinal)
        return .interaction(ordinal)
    }

    private func divided(_ bucket: Bucket, _ recorded: (Int) throws -> RecordedRequest) throws -> [Key: Queue] {
        switch bucket {
        case .divided(let queues): return queues
        case .undivided(let ordinals):
            var queues: [Key: Queue] = [:]
            for ordinal in ordinals {
                queues[key(of: try recorded(ordinal), forTarget: false), default: Queue(ordinals: [])].ordinals
                    .append(ordinal)
            }
            return queues
        }
    }

    private func key(of request: RecordedRequest, forTarget: Bool) -> Key {
        var key: Key = []
        for rule in rules.matching where rule.readsTargetAlone == forTarget {
            key += rule.key(request)
            key.append(0)
        }
        return key
    }
}

extension MatchingRule {
    /// Whether method and URL are all that the rule looks at.
    fileprivate var readsTargetAlone: Bool { subject == .method || subject == .url }
}
