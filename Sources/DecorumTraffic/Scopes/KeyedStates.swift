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

/// One state for each key, such as for each origin, which requests find without a lock that all of them take.
///
/// It keeps some hundreds of states, and all that must stay. A request whose state is dropped before its use still uses it; that
/// is rare, since hundreds of others have to be used in between.
final class KeyedStates<Key: Hashable & Sendable, State: KeyedState>: Sendable {
    /// The number of states; above it, one is dropped that was not used since others came, or else the oldest.
    static var limit: Int { 256 }

    /// The states of spellings of one shape, roughly by their last use.
    private final class Shard: Sendable {
        let known = Mutex<[(spelling: Spelling, state: State)]>([])
    }

    private let shards = (0..<16).map { _ in Shard() }
    /// The states, with numbers in the order in which they were made.
    private let states = Mutex<[Key: (number: Int, state: State)]>([:])
    // It grows with new spellings alone, so that most requests only read it.
    private let useNumber = Atomic(0)

    /// All keys and their states.
    var all: [Key: State] { states.withLock { $0.mapValues(\.state) } }

    /// The state under a spelling that was used before; nil for a new spelling.
    func known(_ spelling: Spelling) -> State? {
        shard(of: spelling).known.withLock { known in
            guard let index = known.firstIndex(where: { $0.spelling == spelling }) else { return nil }
            // The next request mostly goes where this one goes, and to compare few spellings takes less time than a hash.
            if index > 0 { known.swapAt(0, index) }
            known[0].state.noteUse(useNumber.load(ordering: .relaxed))
            return known[0].state
        }
    }

    /// The state of a key, which is made when there is none.
    func state(of key: Key, spelled spelling: Spelling? = nil, make: () -> State) -> State {
        states.withLock { states in
            if states[key] == nil, states.count >= Self.limit { dropLeastRecent(of: &states) }
            let number = useNumber.wrappingAdd(1, ordering: .relaxed).newValue
            let (made, state) = states[key] ?? (number, make())
            states[key] = (made, state)
            state.noteUse(number)
            guard let spelling else { return state }
            shard(of: spelling).known.withLock { known in
                if known.count >= Self.limit { known.removeLast() }
                known.append((spelling, state))
            }
            return state
        }
    }

    private func dropLeastRecent(of states: inout [Key: (number: Int, state: State)]) {
        let uses = states.compactMap { key, made in made.state.lastUse.map { (key, ($0, made.number)) } }
        let oldest = uses.min { $0.1 < $1.1 }
        guard let oldest, let dropped = states.removeValue(forKey: oldest.0)?.state else { return }
        // A spelling must not lead to a state that was dropped.
        for shard in shards { shard.known.withLock { $0.removeAll { $0.state === dropped } } }
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
