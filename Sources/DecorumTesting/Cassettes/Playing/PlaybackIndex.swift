/// Finds the interaction that answers a request, by keys, in a time that does not depend on the number of interactions.
///
/// Interactions are first distinguished by method and URL, which are available without decoding. Only interactions that
/// share both are decoded for the other rules, and only when the first request comes that could match one of them.
struct PlaybackIndex: Sendable {
    /// The result of a search for a request.
    enum Finding: Equatable {
        case interaction(Int)
        /// All matching interactions have been played.
        case played([Int])
        case nothing
    }

    /// Gives the request of an interaction; nil if only its method and its URL matter.
    typealias Recorded = (_ ordinal: Int) throws -> RecordedRequest?

    private let rules: CassetteRules
    /// The rules for method and URL, and all others; a copy of the rules themselves would count many references.
    private let targetKeys: [MatchingRule.Key]
    private let contentKeys: [MatchingRule.Key]
    private let owners: InteractionOwners
    /// The interactions that are recorded again: each takes its turn, and answers nothing.
    private let mended: Set<Int>
    /// The key by all other rules of a request without content, if no rule reads fields.
    private var contentlessKey = Key()
    private var groups: [Group] = []
    /// By the key of method and URL, and by the method and the URL as they are written, where these differ from the key.
    ///
    /// A key is its own key, so a request that is written like a key or like a recording needs no key of its own.
    private var groupNumbers: [Key: Int] = [:]
    /// The keys of groups that hold placeholders; nil until a request matches no group exactly.
    private var templates: KeyTemplates?
    /// The number of interactions.
    private(set) var count = 0
    /// The interaction that is the next one in order.
    private(set) var cursor = 0
    var played: Set<Int> { mended.isEmpty ? taken : taken.subtracting(mended) }
    /// The interactions that have had their turn: those that were played, and those that are recorded again.
    private var taken: Set<Int> = []

    /// Creates an empty index, with room for a number of interactions.
    init(
        count: Int, rules: CassetteRules, owners: InteractionOwners = InteractionOwners(), mended: Set<Int> = []
    ) {
        self.rules = rules
        targetKeys = rules.matching.filter(\.readsTargetAlone).map(\.appendKey)
        contentKeys = rules.matching.filter { !$0.readsTargetAlone }.map(\.appendKey)
        self.owners = owners
        self.mended = mended
        groups.reserveCapacity(count)
        contentlessKey = key(of: RecordedRequest(method: "", url: ""), forTarget: false)
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
        let key = key(of: target, forTarget: true)
        let number = groups.count
        if let group = groupNumbers.updateValue(number, forKey: key) {
            groupNumbers[key] = group
            groups[group].others.append(count)
        } else {
            groups.append(Group(first: count))
        }
        defer { count += 1 }
        if let url {
            guard !key.isWritten(method: target.method, url: url) else { return }
            let written = Key(method: target.method, url: url)
            if groupNumbers[written] == nil { groupNumbers[written] = groupNumbers[key] }
        }
    }

    /// Counts an interaction that answers no request.
    mutating func skip() { count += 1 }

    /// Takes the next interaction for a request; of several, the one that `preference` prefers.
    mutating func take(
        _ request: RecordedRequest, recorded: Recorded, preferring preference: PlaceholderPreference? = nil
    ) throws -> Finding {
        guard let place = try place(of: request, recorded) else { return .nothing }
        return try take(at: place, preferring: preference)
    }

    /// Gives interactions their turn, which answer no request.
    mutating func skip(_ ordinals: [Int], recorded: Recorded) throws {
        for ordinal in ordinals where taken.insert(ordinal).inserted {
            guard let request = try recorded(ordinal), let group = groupNumbers[key(of: request, forTarget: true)]
            else { continue }
            try fillQueues(of: group, recorded)
            let content = key(of: request, forTarget: false)
            groups[group].queues?.advance(content, past: taken)
        }
        passTaken()
    }

    /// Moves the place in the order behind interactions that have had their turn.
    private mutating func passTaken() {
        while taken.contains(cursor) { cursor += 1 }
    }

    /// Takes the next interaction for a request without content that is not redacted, if its method and its URL are
    /// written as those of a recorded one are; nil if they are not, or if only requests with content are recorded.
    ///
    /// No rule may read fields.
    mutating func take(
        written request: RecordedRequest, recorded: Recorded, preferring preference: PlaceholderPreference?
    ) throws -> Finding? {
        guard let group = groupNumbers[Key(method: request.method, url: request.url)] else { return nil }
        try fillQueues(of: group, recorded)
        guard groups[group].queues?[contentlessKey] != nil else { return nil }
        return try take(at: Place(group: group, key: contentlessKey), preferring: preference)
    }

    private mutating func take(at place: Place, preferring preference: PlaceholderPreference?) throws -> Finding {
        guard let queue = groups[place.group].queues?[place.key] else { return .nothing }
        var finding = find(in: queue)
        guard case .interaction(var ordinal) = finding else { return finding }
        if rules.order == .any, queue.hasSeveral, let preference,
            let other = try preference.first(of: queue.left(except: taken, upTo: PlaceholderPreference.limit))
        {
            ordinal = other
            finding = .interaction(ordinal)
        }
        if taken.insert(ordinal).inserted { groups[place.group].queues?.advance(place.key, past: taken) }
        cursor = max(cursor, ordinal + 1)
        if rules.order == .strict { passTaken() }
        return mended.contains(ordinal) ? .nothing : finding
    }

    /// Takes the next interaction for a request in several versions: the first that matches any version.
    mutating func take(
        anyOf requests: [RecordedRequest], recorded: Recorded
    ) throws -> Finding {
        var findings: [(place: (Int, Int), request: RecordedRequest)] = []
        for request in requests {
            guard let place = try place(of: request, recorded), case .interaction(let ordinal) = find(at: place) else {
                continue
            }
            findings.append(((taken.contains(ordinal) ? 1 : 0, ordinal), request))
        }
        guard let first = findings.min(by: { $0.place < $1.place })?.request ?? requests.first else { return .nothing }
        return try take(first, recorded: recorded)
    }

    /// Takes the next interaction for the first of several versions of a request that has one; nil if none has.
    mutating func take(firstOf requests: [RecordedRequest], recorded: Recorded) throws -> Int? {
        for request in requests {
            if case .interaction(let ordinal) = try take(request, recorded: recorded) { return ordinal }
        }
        return nil
    }

    /// The place of the interactions that a request matches exactly, or else except for a secret.
    private mutating func place(
        of request: RecordedRequest, _ recorded: Recorded
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

    private mutating func fillQueues(of group: Int, _ recorded: Recorded) throws {
        guard groups[group].queues == nil else { return }
        groups[group].queues = try queues(of: groups[group], recorded)
    }

    private mutating func keys(like key: Key, in group: Int) -> [Key] {
        if groups[group].templates == nil {
            groups[group].templates = KeyTemplates((groups[group].queues?.keys ?? []).lazy.map(\.bytes))
        }
        return (groups[group].templates?.matches(key.bytes) ?? []).map { Key(bytes: $0) }
    }

    /// Unplayed interactions come first, in the order of the file.
    private func urgency(of place: Place) -> (Int, Int) {
        guard let queue = groups[place.group].queues?[place.key] else { return (2, 0) }
        return queue.upcoming.map { (0, $0) } ?? (1, queue.first)
    }

    private func find(at place: Place) -> Finding {
        groups[place.group].queues?[place.key].map(find) ?? .nothing
    }

    private func find(in queue: Queue) -> Finding {
        if let ordinal = queue.upcoming {
            return rules.order == .any || ordinal == cursor ? .interaction(ordinal) : .nothing
        }
        return rules.repeats == .last ? .interaction(queue.last) : .played(queue.ordinals)
    }

    private func queues(of group: Group, _ recorded: Recorded) throws -> Queues {
        var queues = Queues()
        let ordinals = [group.first] + group.others
        let later = owners.hasOwn ? owners.unowned : []
        for ordinal in ordinals where !owners.foreign.contains(ordinal) && !later.contains(ordinal) {
            queues.append(ordinal, to: try contentKey(of: ordinal, recorded))
        }
        // A test that has recorded a request gets its own answers first, and then those that belong to no test.
        for ordinal in ordinals where !later.isEmpty && later.contains(ordinal) {
            queues.append(ordinal, to: try contentKey(of: ordinal, recorded))
        }
        guard !owners.foreign.isEmpty else { return queues }
        let ranked = queues
        for ordinal in ordinals where owners.foreign.contains(ordinal) {
            let key = try contentKey(of: ordinal, recorded)
            if ranked[key] == nil { queues.append(ordinal, to: key) }
        }
        return queues
    }

    private func key(of request: RecordedRequest, forTarget: Bool) -> Key {
        var key = Key()
        if forTarget { key.bytes.reserveCapacity(request.method.utf8.count + request.url.utf8.count + 2) }
        for append in forTarget ? targetKeys : contentKeys {
            append(request, &key.bytes)
            key.bytes.append(0)
        }
        return key
    }

    /// The key of a recorded request by all rules but those for method and URL.
    private func contentKey(of ordinal: Int, _ recorded: Recorded) throws -> Key {
        try recorded(ordinal).map { key(of: $0, forTarget: false) } ?? contentlessKey
    }
}
