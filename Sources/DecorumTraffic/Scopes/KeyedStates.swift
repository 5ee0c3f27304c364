import Decorum
import HTTPTypes
import Synchronization

/// State that belongs to one key of ``KeyedStates``.
protocol KeyedState: AnyObject, Sendable {
    /// The number of the last use; nil for state that must stay.
    var lastUse: Int? { get }

    /// Notes a use; a later one has the same number or a larger one.
    func noteUse(_ number: Int)
}

/// One state for each key, such as for each origin: at most some hundreds, which requests find without a lock that all
/// of them take.
final class KeyedStates<Key: Hashable & Sendable, State: KeyedState>: Sendable {
    /// The number of states; above it, the one that was used least recently is dropped.
    static var limit: Int { 256 }

    private final class Shard: Sendable {
        /// By the hash of their spellings, so that a spelling is hashed once; of two with one hash, the later one is known.
        let states = Mutex<[Int: (spelling: Spelling, state: State)]>([:])
    }

    private let shards = (0..<16).map { _ in Shard() }
    private let states = Mutex<[Key: State]>([:])
    // It grows with new spellings alone, so that most requests only read it.
    private let useNumber = Atomic(0)

    /// All keys and their states.
    var all: [Key: State] { states.withLock { $0 } }

    /// The state under a spelling that was used before; nil for a new spelling.
    func known(_ spelling: Spelling) -> State? {
        let hash = spelling.hashValue
        guard let known = shard(of: hash).states.withLock({ $0[hash] }), known.spelling == spelling else { return nil }
        known.state.noteUse(useNumber.load(ordering: .relaxed))
        return known.state
    }

    /// The state of a key, which is made when there is none.
    func state(of key: Key, spelled spelling: Spelling? = nil, make: () -> State) -> State {
        let (state, isFull) = states.withLock { states in
            if let state = states[key] { return (state, false) }
            let isFull = states.count >= Self.limit
            if isFull { states.dropLeastRecent() }
            let state = make()
            states[key] = state
            return (state, isFull)
        }
        state.noteUse(useNumber.wrappingAdd(1, ordering: .relaxed).newValue)
        // A spelling must not lead to a state that was dropped.
        if isFull { for shard in shards { shard.states.withLock { $0 = [:] } } }
        if let spelling {
            let hash = spelling.hashValue
            shard(of: hash).states.withLock { states in
                if states.count >= Self.limit { states = [:] }
                states[hash] = (spelling, state)
            }
        }
        return state
    }

    private func shard(of hash: Int) -> Shard { shards[hash & (shards.count - 1)] }
}

extension Dictionary where Value: KeyedState {
    fileprivate mutating func dropLeastRecent() {
        let uses = compactMap { key, state in state.lastUse.map { (key, $0) } }
        if let (key, _) = uses.min(by: { $0.1 < $1.1 }) { self[key] = nil }
    }
}

/// The parts of a request that determine its key, as the request spells them: to compare them takes less time than to
/// parse an origin.
struct Spelling: Sendable, Hashable {
    private let scheme: String?
    private let authority: String?
    private let name: String?

    init(originOf request: borrowing Request, name: String?) {
        (scheme, authority, self.name) = (request.head.scheme, request.head.authority, name)
    }

    init(_ request: borrowing Request, _ scope: TrafficScope) {
        scheme = scope == .origin ? request.head.scheme : nil
        authority = scope == .origin ? request.head.authority : nil
        name = scope == .group ? request.options.group?.name : nil
    }
}
