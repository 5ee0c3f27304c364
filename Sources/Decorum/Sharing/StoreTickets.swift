import Synchronization

/// The permission to store the response to one request, which a store gives when the request is about to be sent.
///
/// A response may be outdated before it is complete: a user signs out, or a `POST` changes the resource, while the body
/// is still being read. Therefore a store gives a ticket before the request is sent, and stores the complete response
/// only if the ticket is still current. A removal withdraws the tickets of the responses that it covers. The tickets of
/// one store are numbered, so that a response that is read slowly does not replace the response to a later request.
public final class StoreTicket: Sendable {
    /// The position of the ticket among all tickets of its store, which grows with each ticket.
    public let number: UInt64
    /// When the ticket was given, for a store that other processes use as well.
    let time: TicketTime?
    /// What a store of several machines knew when it gave the ticket.
    package let basis: (any AnyObject & Sendable)?
    fileprivate let slot: Int
    fileprivate let tickets: StoreTickets

    fileprivate init(
        number: UInt64, time: TicketTime?, basis: (any AnyObject & Sendable)?, slot: Int, tickets: StoreTickets
    ) {
        (self.number, self.time, self.basis, self.slot, self.tickets) = (number, time, basis, slot, tickets)
    }

    deinit {
        tickets.end(slot)
    }

    /// Whether no removal has withdrawn the ticket.
    var isCurrent: Bool { tickets.isCurrent(self) }
}

/// The tickets that a store has given for requests that are under way.
///
/// A store of your own has one value of this type, which gives its tickets. Each removal withdraws tickets, and
/// ``isCurrent(_:)`` is asked before a response is stored. The store does this in the same step in which it removes or
/// stores, under one lock or in an actor without a suspension, so that no removal comes between the two:
///
/// ```swift
/// func removeResponses(at uri: ResponseKey.URI) {
///     tickets.withdraw(at: uri)
///     latest = latest.filter { $0.key.uri != uri }
/// }
/// ```
///
/// <doc:keeping-responses> shows the whole store.
///
/// Each operation takes a time that does not grow with the number of requests under way, except ``withdraw(of:)`` and
/// ``withdrawAll()``.
public final class StoreTickets: Sendable {
    private let state = Mutex(State())

    /// Creates tickets for one store.
    public init() {}

    /// Gives a ticket for a request that is about to be sent.
    ///
    /// - Parameter key: The key under which the response would be stored.
    /// - Returns: The ticket, which ends when it is dropped.
    public func ticket(for key: ResponseKey) -> StoreTicket {
        ticket(for: key, at: nil)
    }

    /// Gives a ticket that carries what a store of several machines knows.
    package func ticket(for key: ResponseKey, basedOn basis: any AnyObject & Sendable) -> StoreTicket {
        ticket(for: key, at: nil, basedOn: basis)
    }

    func ticket(
        for key: ResponseKey, at time: TicketTime?, basedOn basis: (any AnyObject & Sendable)? = nil
    ) -> StoreTicket {
        let (number, slot) = state.withLock { $0.begin(key, at: time?.wall) }
        return StoreTicket(number: number, time: time, basis: basis, slot: slot, tickets: self)
    }

    /// Whether a ticket comes from here and no removal has withdrawn it.
    ///
    /// - Parameter ticket: The ticket of the request whose response is complete now.
    /// - Returns: Whether the response may be stored.
    public func isCurrent(_ ticket: StoreTicket) -> Bool {
        ticket.tickets === self && state.withLock { $0.slots[ticket.slot].isCurrent }
    }

    /// Withdraws the tickets of a key.
    ///
    /// - Parameter key: The key whose responses are removed.
    public func withdraw(for key: ResponseKey) {
        state.withLock { $0.withdraw(at: key.uri) { $0.key == key } }
    }

    /// Withdraws the tickets of a URI, of all principals.
    ///
    /// - Parameter uri: The URI whose responses are removed.
    public func withdraw(at uri: ResponseKey.URI) {
        state.withLock { $0.withdraw(at: uri) { _ in true } }
    }

    /// Withdraws the tickets of a principal.
    ///
    /// - Parameter principal: The principal whose responses are removed; nil for requests without a principal.
    public func withdraw(of principal: Principal?) {
        state.withLock { $0.withdraw { $0.key?.principal == principal } }
    }

    /// Whether requests for a URI are under way.
    func areGiven(at uri: ResponseKey.URI) -> Bool {
        state.withLock { $0.isGiven(at: uri) }
    }

    /// Withdraws the tickets of a key that were given until a time, at which another store has removed its responses.
    func withdraw(for key: ResponseKey, until time: Int64) {
        state.withLock { $0.withdraw(at: key.uri) { $0.key == key && $0.time ?? .min <= time } }
    }

    /// Withdraws all tickets.
    public func withdrawAll() {
        state.withLock { $0.withdraw { _ in true } }
    }

    fileprivate func end(_ slot: Int) {
        state.withLock { $0.end(slot) }
    }
}

/// A ticket in the list of its place.
private struct Slot {
    /// The key of the ticket; nil in a free slot.
    var key: ResponseKey?
    /// When the ticket was given, for a store that other processes use as well.
    var time: Int64?
    var isCurrent = false
    var previous: Int?
    var next: Int?
}

private struct State {
    var slots: [Slot] = []
    private var free: [Int] = []
    /// The latest slot at each place, which the hash of the URI chooses; there are at least as many places as slots.
    private var latest: [Int?] = [nil]
    private var lastNumber: UInt64 = 0

    mutating func begin(_ key: ResponseKey, at time: Int64?) -> (number: UInt64, slot: Int) {
        lastNumber += 1
        let slot = free.popLast() ?? slots.count
        let new = Slot(key: key, time: time, isCurrent: true)
        if slot == slots.count { slots.append(new) } else { slots[slot] = new }
        if slots.count <= latest.count {
            link(slot, at: place(of: key.uri))
        } else {
            latest = Array(repeating: nil, count: 2 * latest.count)
            for slot in slots.indices {
                if let key = slots[slot].key { link(slot, at: place(of: key.uri)) }
            }
        }
        return (lastNumber, slot)
    }

    private mutating func link(_ slot: Int, at place: Int) {
        let next = latest[place]
        if let next { slots[next].previous = slot }
        (slots[slot].previous, slots[slot].next) = (nil, next)
        latest[place] = slot
    }

    mutating func end(_ slot: Int) {
        let (previous, next) = (slots[slot].previous, slots[slot].next)
        if let next { slots[next].previous = previous }
        if let previous {
            slots[previous].next = next
        } else if let key = slots[slot].key {
            latest[place(of: key.uri)] = next
        }
        slots[slot] = Slot()
        free.append(slot)
    }

    /// The number of places is a power of two.
    private func place(of uri: ResponseKey.URI) -> Int { uri.hashValue & (latest.count - 1) }

    func isGiven(at uri: ResponseKey.URI) -> Bool {
        var slot = latest[place(of: uri)]
        while let current = slot, slots[current].key?.uri != uri { slot = slots[current].next }
        return slot != nil
    }

    mutating func withdraw(at uri: ResponseKey.URI, where isCovered: (Slot) -> Bool) {
        var slot = latest[place(of: uri)]
        while let current = slot {
            if slots[current].key?.uri == uri, isCovered(slots[current]) { slots[current].isCurrent = false }
            slot = slots[current].next
        }
    }

    mutating func withdraw(where isCovered: (Slot) -> Bool) {
        for slot in slots.indices where isCovered(slots[slot]) { slots[slot].isCurrent = false }
    }
}

/// When a ticket was given, in nanoseconds: by the clock that all processes have, and by one that is never set.
struct TicketTime: Sendable, Equatable {
    /// The date and time of day, as files have it.
    let wall: Int64
    /// The time since the machine was started, with the time in which it slept.
    let steady: Int64

    static let day: Int64 = 86_400_000_000_000
    /// The two clocks are read one after the other, so that their difference is not exact.
    private static let tolerance: Int64 = 5_000_000
    /// The largest error of one reading, of which two are compared, with some room.
    private static let readingTolerance: Int64 = 1_250_000
    private static let readingLimit = 10
    #if canImport(Darwin)
    /// The part of a time by which the clocks may drift apart while the time of day is being corrected.
    private static let drift: Int64 = 1000
    #else
    /// Both clocks of Linux are corrected alike.
    private static let drift: Int64 = .max
    #endif

    /// Reads both clocks as if at one moment.
    ///
    /// A thread may lose its processor for longer than the tolerance between two readings, after which the clock would
    /// count as set. So the steady clock is read on both sides, and of several attempts the shortest one counts.
    static func read(wall: () -> Int64, steady: () -> Int64) -> TicketTime {
        var time = TicketTime(wall: 0, steady: 0)
        var shortest = Int64.max
        for _ in 0..<readingLimit {
            let start = steady()
            let now = TicketTime(wall: wall(), steady: start)
            let length = steady() &- start
            if length < shortest { (time, shortest) = (now, length) }
            if length <= readingTolerance { break }
        }
        return time
    }

    /// Whether later removals can be told by their time of day: the clock was not set, and less than a day has passed,
    /// after which the marks of removals are deleted.
    func isComparable(at now: TicketTime) -> Bool {
        let passed = now.steady &- steady
        let difference = (now.wall &- wall) &- passed
        return passed < Self.day && difference.magnitude <= (Self.tolerance + passed / Self.drift).magnitude
    }
}
