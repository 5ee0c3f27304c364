import Decorum
import DecorumTestSupport
import DecorumTesting
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct LimitingQueueTests {
    private let everybody = { (_: RequestGroup?) in false }

    @Test func `The highest priority goes first, within one the first that came, and a group that is left out later`() {
        var queue = WaitingQueue<String>()
        for (name, priority) in [("low", 1), ("high", 9), ("middle", 5), ("high too", 9), ("low too", 1)] {
            _ = queue.append(name, priority: priority, group: name == "high" ? "images" : nil)
        }
        #expect(queue.takeNext(from: 6) { $0 == "images" } == "high too")
        #expect(queue.count(from: 5) { $0 == "images" } == 1 && queue.count == 4)
        #expect(
            (0..<4).map { _ in queue.takeNext(from: 1, without: everybody) } == ["high", "middle", "low", "low too"])
        _ = queue.append("deferred", priority: -1)
        #expect(queue.takeNext(from: 0, without: everybody) == nil)
        #expect(queue.takeNext(from: -1, without: everybody) == "deferred" && queue.count == 0)
    }

    @Test func `Each tenth place goes to the oldest, so that none waits for ever`() {
        var queue = WaitingQueue<Int>()
        for number in 0..<2 { _ = queue.append(number, priority: 1) }
        let taken = (2..<32).compactMap { number -> Int? in
            _ = queue.append(number, priority: 9)
            return queue.takeNext(from: 0, without: everybody)
        }
        #expect(taken.firstIndex(of: 0) == 9 && taken.firstIndex(of: 1) == 19)
        #expect(taken[29] == 29, "A tenth place without a lower priority goes to the next one.")
    }

    @Test func `An element leaves from any place, once`() {
        var queue = WaitingQueue<Int>()
        let numbers = (0..<60).map { queue.append($0, priority: $0 % 2, group: $0 < 50 ? nil : "images") }
        for element in 0..<50 where ![1, 40, 43].contains(element) {
            #expect(queue.remove(numbers[element]) == element)
        }
        #expect(queue.remove(numbers[5]) == nil && queue.count == 13)
        #expect(queue.removeAll(of: "images").sorted() == Array(50..<60))
        #expect(queue.takeLeastImportant(below: 0) == nil && queue.takeLeastImportant(below: 1) == 40)
        #expect(queue.takeLeastImportant(below: 2) == 43 && queue.removeAll(of: nil) == [1])
        #expect(queue.elements.isEmpty && queue.takeNext(from: 0, without: everybody) == nil)
    }

    @Test func `100,000 elements wait, leave and are taken in steps that do not grow with their number`() {
        expectLinearTime(upTo: 100_000, "waiting elements") { count in
            {
                var queue = WaitingQueue<Int>()
                let numbers = (0..<count).map {
                    queue.append($0, priority: $0 % 5, group: $0 % 7 == 0 ? "images" : nil)
                }
                for number in numbers where number % 3 == 0 { queue.remove(number) }
                while queue.takeNext(from: 0, without: { $0 == "images" }) != nil {
                    _ = queue.takeLeastImportant(below: 9)
                }
                while queue.takeNext(from: 0, without: { _ in false }) != nil {}
            }
        }
    }
}

@Suite(.timeLimit(.minutes(3)))
struct TrafficKeyTests {
    @Test func `Requests share a key by their origin, by their group, or always`() throws {
        let request = try Request.get("https://api.example.com/a", group: "images")
        #expect(TrafficKey(request, .origin).description == "api.example.com:443")
        #expect(TrafficKey(request, .group).description == "the group images")
        #expect(TrafficKey(request, .all) == TrafficKey(try .get("https://other.example.com/"), .all))
    }

    @Test func `The least recently used of too many states is dropped, unless a request has a place in it`() throws {
        let rule = LimitRule(
            policy: LimitPolicy(Limits(.fixed(1))), suspensions: nil, watch: TimeLimitWatch(clock: VirtualClock()),
            spawner: SystemSpawner(), start: .now)
        let (table, limit) = (LimitTable(rule: rule), KeyedStates<TrafficKey, LimitLane>.limit)
        let requests = try (0...limit).map { try Request.get("https://\($0).example/") }
        let lanes = requests.dropLast().map { table.lane(of: $0) }
        let running = lanes[0].permitAtOnce(for: requests[0].options)
        #expect(table.lane(of: requests[2]) === lanes[2] && lanes[2] !== lanes[1])
        _ = table.lane(of: requests[limit])
        #expect(table.lane(of: requests[0]) === lanes[0], "It is in use.")
        #expect(table.lanes.all[lanes[1].key] == nil && table.lanes.all.count == limit)
        withExtendedLifetime(running) {}
    }
}

/// The decision which request is sent, row by row.
@Suite(.timeLimit(.minutes(3)))
struct LimitingAdmissionTests {
    private let now = Duration.seconds(1000)

    private func request(deadline: Double? = nil) -> LimitWaiter {
        let limit = deadline.map { now + .seconds($0) }
        return LimitWaiter(
            group: nil, priority: 5, deadline: limit, limit: limit ?? now + .seconds(60), wait: LimitedWait(until: nil))
    }

    private func admission(_ limits: Limits, wait: Double = 60) -> Admission {
        Admission(.all, in: LimitPolicy(limits, longestWait: .seconds(wait)), since: .now)
    }

    /// An admission with a place, which knows that a request takes a second, and with requests on their way.
    private func busy(_ places: Int, wait: Double = 60) -> Admission {
        var admission = admission(Limits(.fixed(places)), wait: wait)
        admission.begin(at: now - .seconds(1))
        admission.note(.answer, since: now - .seconds(1), at: now)
        admission.end(since: now - .seconds(1), at: now)
        for _ in 0..<places { admission.begin(at: now) }
        return admission
    }

    @Test(
        arguments: [
            (0, 60, "timeOver"), (1, 60, "tooLate"), (1.9, 60, "tooLate"), (3, 60, "waits"), (nil, 2, "waits"),
            (nil, 0.9, "tooLate"),
        ] as [(Double?, Double, String)])
    func `A request that cannot be in time is refused at once`(deadline: Double?, wait: Double, expected: String) {
        var admission = busy(1, wait: wait)
        #expect(admission.outcome(of: request(deadline: deadline), at: now) == expected)
    }

    @Test func `A request that became too late is left out, unless nothing else is on its way`() {
        var admission = busy(2)
        for _ in 0..<3 { #expect(admission.outcome(of: request(deadline: 4), at: now) == "waits") }
        // With nothing on its way, only an answer shows that the server is fast again.
        for isTooLate in [true, false] {
            admission.end(since: now, at: now + .seconds(1))
            #expect(admission.next(at: now + .seconds(3.5))?.isTooLate == isTooLate)
        }
    }

    @Test func `A rate lets a burst through, and then one request in each interval`() throws {
        var admission = admission(Limits(rate: .init(2, per: .seconds(0.2))))
        #expect(
            (0..<4).map { _ in admission.outcome(of: request(), at: now) } == ["goes", "goes", "waits", "waits"])
        let first = try #require(admission.nextToken(at: now))
        #expect(abs((first - now) / .seconds(0.1) - 1) < 0.001)
        #expect(admission.next(at: now + .seconds(0.09)) == nil)
        #expect(admission.next(at: first) != nil && admission.next(at: first) == nil)
    }

    @Test(arguments: [
        Limits(.fixed(0)), Limits(.fixed(-1)), Limits(.adaptive(within: 0...5)),
        Limits(rate: .init(0, per: .seconds(1))), Limits(rate: .init(1, per: .zero)),
    ])
    func `A limit of zero or less lets nothing through`(limits: Limits) {
        var admission = admission(limits)
        #expect(!admission.isFree(isDeferred: false, behind: 0, at: now))
        #expect(admission.outcome(of: request(), at: now) == "closed")
        let connection = StubConnection().limiting(LimitPolicy(Limits(.fixed(1)), groups: ["images": limits]))
        #expect(connection.layers[0].facts.contains(.letsNothingPass))
    }
}

extension Admission {
    /// Takes the next request, which then is on its way unless it is too late.
    fileprivate mutating func next(at now: Duration) -> (waiter: LimitWaiter, isTooLate: Bool)? {
        guard let next = takeNext(at: now, isSuspended: { _ in false }) else { return nil }
        if !next.isTooLate { begin(at: now) }
        return next
    }

    fileprivate mutating func outcome(of waiter: LimitWaiter, at now: Duration) -> String {
        do throws(LimitError) {
            _ = try arrive(waiter, at: now, isSuspended: { _ in false })
            return next(at: now) == nil ? "waits" : "goes"
        } catch { return error.reason.description }
    }
}
