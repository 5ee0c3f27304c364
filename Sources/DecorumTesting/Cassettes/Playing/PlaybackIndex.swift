/// Finds the interaction that answers a request, by keys, in a time that does not depend on the number of interactions.
///
/// Interactions are first distinguished by method and URL, which are available without decoding. Only interactions that
/// share both are decoded for the other rules, and only when the first request comes that could match one of them.
struct PlaybackIndex: Sendable {
    private struct Key: Hashable {
        var bytes: [UInt8] = []

        func hash(into hasher: inout Hasher) {
            // An array hashes each of its bytes by itself, which takes far longer. The pointer does not escape.
            unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        }
    }

    /// The result of a search for a request.
    enum Finding: Equatable {
        case interaction(Int)
        /// All matching interactions have been played.
        case played([Int])
        case nothing
    }

    /// The interactions with the same key of method and URL.
    private struct Group {
        /// Most groups have one interaction, for which no list is needed.
        let first: Int
        var others: [Int] = []
        /// By the key of all other rules; nil until the first request comes.
        var queues: [Key: Queue]?
        /// The keys of the queues that hold placeholders; nil until a request matches no queue exactly.
        var templates: KeyTemplates?
    }

    /// The place of the interactions that answer a request.
    private struct Place {
        let group: Int
        let key: Key
    }

    private struct Queue {
        var ordinals: [Int] = []
        var next = 0
    }

    private let rules: CassetteRules
    private var groups: [Group] = []
    private var groupNumbers: [Key: Int] = [:]
    /// The keys of groups that hold placeholders; nil until a request matches no group exactly.
    private var templates: KeyTemplates?
    /// The number of interactions.
    private(set) var count = 0
    private var cursor = 0
    private(set) var played: Set<Int> = []

    /// Creates an empty index, with room for a number of interactions.
    init(count: Int, rules: CassetteRules) {
        self.rules = rules
        groups.reserveCapacity(count)
        groupNumbers.reserveCapacity(count)
    }

    /// Creates an index; `targets` are requests of which only method and URL count.
    init(_ targets: some Collection<RecordedRequest>, rules: CassetteRules) {
        self.init(count: targets.count, rules: rules)
        for target in targets { append(target) }
    }

    /// Appends an interaction, with a request of which only method and URL count.
    ///
    /// One that is not playable only counts.
    mutating func append(_ target: RecordedRequest, isPlayable: Bool = true) {
        guard isPlayable else {
            count += 1
            return
        }
        let key = key(of: target, forTarget: true)
        let number = groups.count
        if let group = groupNumbers.updateValue(number, forKey: key) {
            groupNumbers[key] = group
            groups[group].others.append(count)
        } else {
            groups.append(Group(first: count))
        }
        count += 1
    }

    /// Takes the next interaction for a request; `recorded` gives the request of an interaction.
    mutating func take(
        _ request: RecordedRequest, recorded: (Int) throws -> RecordedRequest
    ) throws -> Finding {
        guard let place = try place(of: request, recorded) else { return .nothing }
        let finding = find(at: place)
        if case .interaction(let ordinal) = finding {
            if played.insert(ordinal).inserted { groups[place.group].queues?[place.key]?.next += 1 }
            cursor = max(cursor, ordinal + 1)
        }
        return finding
    }

    /// Takes the next interaction for a request in several versions: the first that matches any version.
    mutating func take(
        anyOf requests: [RecordedRequest], recorded: (Int) throws -> RecordedRequest
    ) throws -> Finding {
        var findings: [(place: (Int, Int), request: RecordedRequest)] = []
        for request in requests {
            guard let place = try place(of: request, recorded), case .interaction(let ordinal) = find(at: place) else {
                continue
            }
            findings.append(((played.contains(ordinal) ? 1 : 0, ordinal), request))
        }
        guard let first = findings.min(by: { $0.place < $1.place })?.request ?? requests.first else { return .nothing }
        return try take(first, recorded: recorded)
    }

    /// The place of the interactions that a request matches exactly, or else except for a secret.
    private mutating func place(
        of request: RecordedRequest, _ recorded: (Int) throws -> RecordedRequest
    ) throws -> Place? {
        let target = key(of: request, forTarget: true)
        let content = key(of: request, forTarget: false)
        let group = groupNumbers[target]
        if let group {
            try fillQueues(of: group, recorded)
            if groups[group].queues?[content] != nil { return Place(group: group, key: content) }
        }
        if templates == nil { templates = KeyTemplates(groupNumbers.keys.lazy.map(\.bytes)) }
        let similar = (templates?.matches(target.bytes) ?? []).compactMap { groupNumbers[Key(bytes: $0)] }
        let places = try (similar + (group.map { [$0] } ?? [])).flatMap { group in
            try fillQueues(of: group, recorded)
            if groups[group].queues?[content] != nil { return [Place(group: group, key: content)] }
            return keys(like: content, in: group).map { Place(group: group, key: $0) }
        }
        return places.min { urgency(of: $0) < urgency(of: $1) }
    }

    private mutating func fillQueues(of group: Int, _ recorded: (Int) throws -> RecordedRequest) throws {
        guard groups[group].queues == nil else { return }
        groups[group].queues = try queues(of: [groups[group].first] + groups[group].others, recorded)
    }

    private mutating func keys(like key: Key, in group: Int) -> [Key] {
        if groups[group].templates == nil {
            groups[group].templates = KeyTemplates((groups[group].queues ?? [:]).keys.lazy.map(\.bytes))
        }
        return (groups[group].templates?.matches(key.bytes) ?? []).map { Key(bytes: $0) }
    }

    /// Unplayed interactions come first, in the order of the file.
    private func urgency(of place: Place) -> (Int, Int) {
        guard let queue = groups[place.group].queues?[place.key] else { return (2, 0) }
        return queue.next < queue.ordinals.count ? (0, queue.ordinals[queue.next]) : (1, queue.ordinals[0])
    }

    private func find(at place: Place) -> Finding {
        guard let queue = groups[place.group].queues?[place.key] else { return .nothing }
        if queue.next < queue.ordinals.count {
            let ordinal = queue.ordinals[queue.next]
            return rules.order == .any || ordinal == cursor ? .interaction(ordinal) : .nothing
        }
        guard rules.repeats == .last, let last = queue.ordinals.last else { return .played(queue.ordinals) }
        return .interaction(last)
    }

    private func queues(of ordinals: [Int], _ recorded: (Int) throws -> RecordedRequest) throws -> [Key: Queue] {
        var queues: [Key: Queue] = [:]
        for ordinal in ordinals {
            queues[key(of: try recorded(ordinal), forTarget: false), default: Queue()].ordinals.append(ordinal)
        }
        return queues
    }

    private func key(of request: RecordedRequest, forTarget: Bool) -> Key {
        var key = Key()
        for rule in rules.matching where rule.readsTargetAlone == forTarget {
            rule.append(request, to: &key.bytes)
            key.bytes.append(0)
        }
        return key
    }
}

extension MatchingRule {
    /// Whether the rule reads only the method or the URL.
    fileprivate var readsTargetAlone: Bool { subject == .method || subject == .url }
}
