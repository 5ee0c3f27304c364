import Decorum
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct TrafficKeyTests {
    @Test func `Requests share a key by their origin, by their group, or always`() throws {
        var request = try Request.get("https://api.example.com/a")
        request.options.group = "images"
        #expect(TrafficKey(request, .origin).description == "api.example.com:443")
        #expect(TrafficKey(request, .group).description == "the group images")
        #expect(TrafficKey(request, .all) == TrafficKey(try .get("https://other.example.com/"), .all))
    }
}
