import Decorum
import DecorumTesting
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct LimitingQueueTests {
    @Test func `The highest priority goes first, and within one the first that came`() {
        var queue = WaitingQueue<String>()
        for (name, priority) in [("low", 1), ("high", 9), ("middle", 5), ("high too", 9), ("low too", 1)] {
            _ = queue.append(name, priority: priority)
        }
        #expect(
            (0..<5).compactMap { _ in queue.takeNext(from: 0) } == ["high", "high too", "middle", "low", "low too"])
        #expect(queue.isEmpty && queue.takeNext(from: 0) == nil)
    }

    @Test func `Each tenth place goes to the oldest, so that none waits for ever`() {
        var queue = WaitingQueue<Int>()
        _ = queue.append(0, priority: 1)
        _ = queue.append(1, priority: 1)
        let taken = (2..<32).compactMap { number -> Int? in
            _ = queue.append(number, priority: 9)
            return queue.takeNext(from: 0)
        }
        #expect(taken.firstIndex(of: 0) == 9 && taken.firstIndex(of: 1) == 19)
        #expect(taken[29] == 29, "A tenth place without a lower priority goes to the next one.")
    }

    @Test func `An element leaves from any place, and its place is given to another one`() {
        var queue = WaitingQueue<Int>()
        let places = (0..<6).map { queue.append($0, priority: $0 % 2) }
        for number in [0, 3, 5] { #expect(queue.remove(places[number]) == number) }
        let again = queue.append(6, priority: 1)
        #expect(queue.remove(places[5]) == nil && queue.count == 4 && queue.count(from: 1) == 2)
        #expect(queue.takeLeastImportant() == 4)
        #expect(queue.removeAll { $0 > 1 } == [2, 6])
        #expect(queue.remove(again) == nil)
        #expect([queue.takeNext(from: 0), queue.takeNext(from: 0)] == [1, nil])
    }

    @Test func `Only elements with a priority that is high enough are taken`() {
        var queue = WaitingQueue<Int>()
        _ = queue.append(1, priority: -1)
        #expect(queue.takeNext(from: 0) == nil)
        #expect(queue.takeNext(from: -1) == 1)
    }

    @Test func `The steps for each of 100,000 waiting elements do not grow with their number`() {
        func steps(_ count: Int) -> Int {
            var queue = WaitingQueue<Int>()
            let places = (0..<count).map { queue.append($0, priority: $0 % 5) }
            for place in places where place.hashValue % 3 == 0 { queue.remove(place) }
            while queue.takeNext(from: 0) != nil { _ = queue.takeLeastImportant() }
            return queue.steps
        }
        let (once, twice) = (steps(50_000), steps(100_000))
        #expect(Double(twice) < 2.1 * Double(once))
        #expect(once < 50_000 * 20)
    }
}

/// The decision which request is sent, row by row.
@Suite(.timeLimit(.minutes(3)))
struct LimitingAdmissionTests {
    private let now = Duration.seconds(1000)

    private func request(
        _ priority: Int = 5, in group: RequestGroup? = nil, deadline: Duration? = nil, wait: Duration = .seconds(60)
    ) -> LimitWaiter {
        let deadline = deadline.map { now + $0 }
        let ticket = LimitTicket(group: group, priority: priority, deadline: deadline, limit: deadline ?? now + wait)
        return LimitWaiter(ticket, from: .now)
    }

    private func admission(_ limits: Limits, queue: Int = 100) -> Admission {
        Admission(limits, longestQueue: queue, longestWait: .seconds(60))
    }

    /// Notes requests that take a time each.
    private func noteAnswers(_ admission: inout Admission, taking time: Duration) {
        for _ in 0..<100 {
            _ = admission.arrive(request(), isSuspended: false, at: now)
            admission.note(.init(start: now, latency: time, running: 1), at: now + time)
            admission.end(nil, after: time)
        }
    }

    @Test func `A request goes if there is a place, and else waits`() {
        var admission = admission(Limits(.fixed(1)))
        #expect(admission.arrive(request(), isSuspended: false, at: now).kind == "goes")
        #expect(admission.arrive(request(), isSuspended: false, at: now).kind == "waits")
        #expect(admission.next(at: now) == nil)
        admission.end(nil, after: .seconds(1))
        #expect(admission.next(at: now) != nil)
        #expect(admission.running == 1 && admission.waiting == 0)
    }

    @Test func `A suspended request waits although there is a place, and others pass it`() {
        var admission = admission(Limits(.fixed(1)))
        #expect(admission.arrive(request(in: "images"), isSuspended: true, at: now).kind == "waits")
        _ = admission.arrive(request(), isSuspended: false, at: now)
        let images = { (group: RequestGroup?) in group == "images" }
        let other = admission.takeNext(at: now, isSuspended: images, refuse: { _ in })
        #expect(other != nil && other?.ticket.group == nil)
        #expect(admission.parked.count == 1 && admission.waiting == 1 && admission.running == 1)
        admission.end(nil, after: .seconds(1))
        admission.unpark()
        #expect(admission.next(at: now)?.ticket.group == "images")
    }

    @Test(
        arguments: [
            (0.0, nil, nil), (1, nil, nil), (3, nil, "goes on"), (1.9, nil, "tooLate"), (nil, 2, "goes on"),
            (nil, 0.9, "tooLate"),
        ] as [(Double?, Double?, String?)])
    func `A request that cannot be answered in its time is refused at once`(
        deadline: Double?, longest: Double?, expected: String?
    ) {
        var admission = Admission(
            Limits(.fixed(1)), longestQueue: 100, longestWait: longest.map { .seconds($0) } ?? .seconds(60))
        noteAnswers(&admission, taking: .seconds(1))
        _ = admission.arrive(request(), isSuspended: false, at: now)

        let late = request(deadline: deadline.map { .seconds($0) })
        let kind = admission.arrive(late, isSuspended: false, at: now).kind
        #expect(kind == (deadline == 0 ? "timeOver" : expected == "goes on" ? "waits" : "tooLate"))
    }

    @Test func `A request that became too late is left out, unless nothing else is on its way`() {
        var admission = admission(Limits(.fixed(2)))
        noteAnswers(&admission, taking: .seconds(1))
        for _ in 0..<2 { _ = admission.arrive(request(), isSuspended: false, at: now) }
        for _ in 0..<2 { _ = admission.arrive(request(deadline: .seconds(4)), isSuspended: false, at: now) }
        admission.end(nil, after: .seconds(1))
        var refused = 0
        let next = admission.takeNext(
            at: now + .seconds(3.5), isSuspended: { _ in false }, refuse: { _ in refused += 1 })
        #expect(next == nil)
        #expect(refused == 2 && admission.running == 1)
        admission.end(nil, after: .seconds(1))

        for _ in 0..<2 { _ = admission.arrive(request(), isSuspended: false, at: now) }
        _ = admission.arrive(request(deadline: .seconds(4)), isSuspended: false, at: now)
        for _ in 0..<2 { admission.end(nil, after: .seconds(1)) }
        #expect(admission.next(at: now + .seconds(3.5)) != nil, "Only an answer shows that the server is fast again.")
    }

    @Test func `A full queue takes an important request in place of the least important one`() {
        var admission = admission(Limits(.fixed(1)), queue: 2)
        _ = admission.arrive(request(), isSuspended: false, at: now)
        for group in ["first", "last"] as [RequestGroup] {
            _ = admission.arrive(request(5, in: group), isSuspended: false, at: now)
        }
        #expect(admission.arrive(request(5), isSuspended: false, at: now).kind == "queueFull")
        guard case .waits(_, let displaced) = admission.arrive(request(9), isSuspended: false, at: now) else {
            Issue.record("An important request is refused.")
            return
        }
        #expect(displaced?.ticket.group == "last" && admission.waiting == 2)
    }

    @Test func `A deferred request waits until nothing else runs or waits`() {
        var admission = admission(Limits(.fixed(3)))
        let (deferred, another) = (request(LimitTicket.deferredPriority), request(LimitTicket.deferredPriority))
        #expect(admission.arrive(deferred, isSuspended: false, at: now).kind == "goes")
        #expect(admission.arrive(another, isSuspended: false, at: now).kind == "waits")
        #expect(admission.arrive(request(), isSuspended: false, at: now).kind == "goes")
        admission.end(nil, after: .seconds(1))
        #expect(admission.next(at: now) == nil)
        admission.end(nil, after: .seconds(1))
        #expect(admission.next(at: now)?.ticket.isDeferred == true)
    }

    @Test func `A rate lets a burst through, and then one request in each interval`() throws {
        var admission = admission(Limits(rate: .init(10, per: .seconds(1), burst: 2)))
        let kinds = (0..<4).map { _ in admission.arrive(request(), isSuspended: false, at: now).kind }
        #expect(kinds == ["goes", "goes", "waits", "waits"])
        let token = admission.nextToken(at: now)
        let first = try #require(token)
        #expect(abs((first - now) / .seconds(0.1) - 1) < 0.001)
        #expect(admission.next(at: now + .seconds(0.09)) == nil)
        #expect(admission.next(at: first) != nil)
        #expect(admission.next(at: first) == nil)
        admission.undo(nil)
        #expect(admission.next(at: first) != nil, "A request that was not sent gives its token back.")
    }

    @Test(arguments: [
        Limits(.fixed(0)), Limits(.fixed(-1)), Limits(.adaptive(within: 0...5)),
        Limits(rate: .init(0, per: .seconds(1))),
        Limits(rate: .init(1, per: .zero)), Limits(rate: .init(1, per: .seconds(1), burst: 0)),
    ])
    func `A limit of zero or less lets nothing through`(limits: Limits) {
        var admission = admission(limits)
        #expect(admission.arrive(request(), isSuspended: false, at: now).kind == "closed")
        #expect(LimitPolicy(limits).letsNothingPass)
        #expect(LimitPolicy(Limits(.fixed(1)), groups: ["images": limits]).letsNothingPass)
    }
}

extension Admission {
    fileprivate mutating func next(at now: Duration) -> LimitWaiter? {
        takeNext(at: now, isSuspended: { _ in false }, refuse: { _ in })
    }
}

extension Admission.Arrival {
    fileprivate var kind: String {
        switch self {
        case .goes: "goes"
        case .waits: "waits"
        case .isRefused(let reason, _): reason.description
        }
    }
}
