import Decorum
import DecorumTesting
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct TrafficKeyTests {
    @Test func `Requests share a key by their origin, by their group, or always`() throws {
        let request = try Request.get("https://api.example.com/a", group: "images")
        #expect(TrafficKey(request, .origin).description == "api.example.com:443")
        #expect(TrafficKey(request, .group).description == "the group images")
        #expect(TrafficKey(request, .all) == TrafficKey(try .get("https://other.example.com/"), .all))
    }

    @Test func `The least recently used of too many states is dropped, and a request that has found it still uses it`()
        throws
    {
        let rule = LimitRule(
            policy: LimitPolicy(Limits(.fixed(1))), suspensions: nil, watch: TimeLimitWatch(clock: VirtualClock()),
            spawner: SystemSpawner(), start: .now)
        let table = LimitTable(rule: rule)
        let requests = try (0...table.limit).map { try Request.get("https://\($0).example/") }
        let lanes = requests.dropLast().map { table.lane(of: $0) }
        let running = lanes[0].permitAtOnce(for: requests[0].options)
        #expect(table.lane(of: requests[2]) === lanes[2] && lanes[2] !== lanes[1])
        _ = table.lane(of: requests[table.limit])
        #expect(table.lane(of: requests[0]) === lanes[0], "It is in use.")
        #expect(table.lanes.all[lanes[1].key] == nil && table.lanes.all.count == table.limit)

        let permit = lanes[1].permitAtOnce(for: requests[1].options)
        #expect(permit != nil && lanes[1].permitAtOnce(for: requests[1].options) == nil)
        permit?.giveBack()
        #expect(lanes[1].lastUse != nil && lanes[0].lastUse == nil)
        #expect(table.lane(of: requests[1]) !== lanes[1], "No spelling leads to a state that was dropped.")
        withExtendedLifetime(running) {}
    }
}

extension LimitTable {
    fileprivate var limit: Int { KeyedStates<TrafficKey, LimitLane>.limit }
}
