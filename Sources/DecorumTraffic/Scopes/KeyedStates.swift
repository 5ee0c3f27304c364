import Decorum
import HTTPTypes
import Synchronization

/// State that belongs to one key of ``KeyedStates``.
protocol KeyedState: AnyObject, Sendable {
    /// Whether it must stay, however long it was not used.
    var mustStay: Bool { get }
}

/// One state for each key, such as for each origin, which requests find without a lock that all of them take.
///
/// It keeps some hundreds of states, and all that must stay. A request whose state is dropped before its use still uses it; that
/// is rare, since hundreds of others have to be used in between.
final class KeyedStates<Key: Hashable & Sendable, State: KeyedState>: Sendable {
    /// The number of states; above it, one is dropped that was not used since others came, or else the oldest.
    static var limit: Int { 256 }

    /// A state with the number of its making and of its last use.
    private final class Entry: Sendable {
        let state: State
        let number: Int
        private let lastUse: Atomic<Int>

        init(_ state: State, _ number: Int) {
            (self.state, self.number) = (state, number)
            lastUse = Atomic(number)
        }

        /// It grows from the entry that was not used for the longest time to the one that was used last.
        var age: (lastUse: Int, number: Int) { (lastUse.load(ordering: .relaxed), number) }

        func noteUse(_ number: Int) {
            if lastUse.load(ordering: .relaxed) != number { lastUse.store(number, ordering: .relaxed) }
        }
    }

    /// The entries of spellings of one shape, roughly by their last use.
    private final class Shard: Sendable {
        let known = Mutex<[(spelling: Spelling, entry: Entry)]>([])
    }

    private let shards = (0..<16).map { _ in Shard() }
    private let entries = Mutex<[Key: Entry]>([:])
    // It grows with new spellings alone, so that most requests only read it.
    private let useNumber = Atomic(0)

    /// All keys and their states.
    var all: [Key: State] { entries.withLock { $0.mapValues(\.state) } }

    /// The state under a spelling that was used before; nil for a new spelling.
    func known(_ spelling: Spelling) -> State? {
        shard(of: spelling).known.withLock { known in
            guard let index = known.firstIndex(where: { $0.spelling == spelling }) else { return nil }
            // The next request mostly goes where this one goes, and to compare few spellings takes less time than a hash.
            if index > 0 { known.swapAt(0, index) }
            let entry = known[0].entry
            entry.noteUse(useNumber.load(ordering: .relaxed))
            return entry.state
        }
    }

    /// The state of a key, which is made when there is none.
    func state(of key: Key, spelled spelling: Spelling? = nil, make: () -> State) -> State {
        entries.withLock { entries in
            if entries[key] == nil, entries.count >= Self.limit { dropLeastRecent(of: &entries) }
            let number = useNumber.wrappingAdd(1, ordering: .relaxed).newValue
            let entry = entries[key] ?? Entry(make(), number)
            entries[key] = entry
            entry.noteUse(number)
            guard let spelling else { return entry.state }
            shard(of: spelling).known.withLock { known in
                if known.count >= Self.limit { known.removeLast() }
                known.append((spelling, entry))
            }
            return entry.state
        }
    }

    private func dropLeastRecent(of entries: inout [Key: Entry]) {
        let oldest = entries.filter { !$0.value.state.mustStay }.min { $0.value.age < $1.value.age }
        guard let (key, dropped) = oldest else { return }
        entries[key] = nil
        // A spelling must not lead to a state that was dropped.
        for shard in shards { shard.known.withLock { $0.removeAll { $0.entry === dropped } } }
    }

    private func shard(of spelling: Spelling) -> Shard { shards[spelling.shape & (shards.count - 1)] }
}

/// The parts of a request that determine its key, as the request spells them: to compare them takes less time than to
/// parse an origin.
struct Spelling: Sendable, Equatable {
    private let authority: String?
    private let name: String?
    private let scheme: String?

    init(originOf request: borrowing Request, name: String?) {
        (scheme, authority, self.name) = (request.head.scheme, request.head.authority, name)
    }

    init(_ request: borrowing Request, _ scope: TrafficScope) {
        scheme = scope == .origin ? request.head.scheme : nil
        authority = scope == .origin ? request.head.authority : nil
        name = scope == .group ? request.options.group?.name : nil
    }

    /// A number that few spellings share, and that takes less time than a hash.
    fileprivate var shape: Int {
        let text = (authority ?? name ?? "").utf8
        return text.count &+ Int(text.first ?? 0) &+ 3 &* (name?.utf8.count ?? 0)
    }
}
