/// Events to come, of which the earliest is the first; of events at one instant, the one with the lowest number.
package struct EventQueue<Instant: Comparable & Sendable, Content: Sendable>: Sendable {
    package typealias Event = (instant: Instant, number: Int, content: Content)

    /// A heap: an event comes before the two at twice its place.
    private var events: [Event] = []

    package init() {}

    package var count: Int { events.count }
    package var first: Event? { events.first }

    package mutating func insert(_ event: Event) {
        var place = events.count
        events.append(event)
        while place > 0, Self.isBefore(event, events[(place - 1) / 2]) {
            events[place] = events[(place - 1) / 2]
            place = (place - 1) / 2
        }
        events[place] = event
    }

    @discardableResult package mutating func popFirst() -> Event? {
        guard let first = events.first, let last = events.popLast() else { return nil }
        guard !events.isEmpty else { return first }
        var place = 0
        while true {
            var child = 2 * place + 1
            guard child < events.count else { break }
            if child + 1 < events.count, Self.isBefore(events[child + 1], events[child]) { child += 1 }
            guard Self.isBefore(events[child], last) else { break }
            events[place] = events[child]
            place = child
        }
        events[place] = last
        return first
    }

    /// Drops all other events; what is sorted is a heap, too.
    mutating func keep(where isKept: (Event) -> Bool) { events = events.filter(isKept).sorted(by: Self.isBefore) }

    private static func isBefore(_ event: Event, _ other: Event) -> Bool {
        (event.instant, event.number) < (other.instant, other.number)
    }
}
