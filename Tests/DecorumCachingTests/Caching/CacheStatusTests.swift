import Decorum
import HTTPTypes
import Testing

/// RFC 9211.
@Suite struct CacheStatusTests {
    /// The examples of section 3, unchanged.
    @Test(
        arguments: [
            ("ExampleCache; hit", "ExampleCache;hit"), ("ExampleCache; hit; ttl=376", "ExampleCache;hit;ttl=376"),
            ("ExampleCache; hit; ttl=-412", "ExampleCache;hit;ttl=-412"),
            ("ExampleCache; fwd=uri-miss", "ExampleCache;fwd=uri-miss"),
            ("ExampleCache; fwd=stale; fwd-status=304", "ExampleCache;fwd=stale;fwd-status=304"),
            ("ExampleCache; fwd=uri-miss; collapsed", "ExampleCache;fwd=uri-miss;collapsed"),
            ("ExampleCache; fwd=uri-miss; collapsed=?0", "ExampleCache;fwd=uri-miss;collapsed=?0"),
            (#""a b";key="GET /";detail=memory"#, #""a b";key="GET /";detail=memory"#),
            (#"a;detail="not a token""#, #"a;detail="not a token""#), ("a;stored=?0", "a;stored=?0"),
            ("a;ttl=1;x-own=2;hit;y", "a;hit;ttl=1;x-own=2;y"),
        ] as [(String, String)]) func `A status is read and written`(value: String, description: String)
    {
        #expect(CacheStatus.list(in: fields(value)).map(\.description) == [description])
    }

    @Test func `Every parameter has a property`() throws {
        let value = #"c;fwd=vary-miss;fwd-status=206;ttl=-3;stored;collapsed=?0;key="k";detail="d d";own=1"#

        let status = try #require(CacheStatus.list(in: fields(value)).first)

        #expect(status.cache == "c")
        #expect(!status.isHit)
        #expect(status.forwardReason == .varyMiss)
        #expect(status.forwardStatus == .partialContent)
        #expect(status.timeToLive == .seconds(-3))
        #expect(status.isStored == true)
        #expect(status.isCollapsed == false)
        #expect(status.key == "k")
        #expect(status.detail == "d d")
        #expect(status.otherParameters == ["own": 1])
        #expect(status.description == value)
    }

    @Test func `Several caches are listed from the origin server to the client, over all field lines`() {
        var fields = fields(#"OriginCache; hit; ttl=1100; collapsed, "CDN Company Here"; hit; ttl=545"#)
        fields.append(contentsOf: self.fields("Edge;fwd=miss"))

        let list = CacheStatus.list(in: fields)

        #expect(list.map(\.cache) == ["OriginCache", "CDN Company Here", "Edge"])
        #expect(list.map(\.isHit) == [true, true, false])
        #expect(CacheStatus.list(in: [:]).isEmpty)
    }

    @Test(arguments: [
        "c;hit=1;fwd=\"miss\";fwd-status=?1;ttl=1.5;stored=a;collapsed=0;key=k;detail=1", "c;fwd-status=99999",
    ])
    func `A parameter of another type counts as missing`(value: String) {
        #expect(CacheStatus.list(in: fields(value)) == [CacheStatus(cache: "c")])
    }

    @Test(arguments: ["c;fwd-status=-1", "c;fwd-status=0", "c;fwd-status=1000", "c;fwd-status=999999999999999"])
    func `An invalid status is skipped`(value: String) {
        #expect(CacheStatus.list(in: fields(value)).map(\.forwardStatus) == [nil])
    }

    @Test func `A member without a name is skipped, and an invalid list is empty`() {
        #expect(CacheStatus.list(in: fields("1;hit, (a b);hit, ?1, c;hit")).map(\.cache) == ["c"])
        #expect(CacheStatus.list(in: fields("c;hit, ")).isEmpty)
        #expect(CacheStatus.list(in: fields("Hit from cloudfront")).isEmpty)
    }

    @Test func `A status with any values can be written and read`() {
        var status = CacheStatus(cache: "Café\r\nX: 1")
        status.forwardReason = CacheStatus.ForwardReason("no token")
        status.timeToLive = Duration(secondsComponent: .min, attosecondsComponent: -1)
        status.key = "https://example.com/ü?a=b%20c"
        status.detail = "\0"
        status.otherParameters = ["Bad Key": 1, "big": .integer(.max), "ttl": 1, "fine": "x"]

        let name = #""Caf%C3%A9%0D%0AX: 1""#
        let rest = #";key="https://example.com/%C3%BC?a=b%20c";detail="%00";fine="x""#
        #expect(status.description == name + ";ttl=-999999999999999" + rest)
        #expect(CacheStatus.list(in: fields(status.description)).map(\.description) == [status.description])
        #expect(CacheStatus(cache: "").description == #""""#)
    }

    @Test(arguments: [(Duration.milliseconds(1999), 1), (.milliseconds(-1), -1), (.seconds(-2), -2), (.zero, 0)])
    func `A fraction of a second counts as expired`(timeToLive: Duration, seconds: Int) {
        var status = CacheStatus(cache: "c")
        status.timeToLive = timeToLive

        #expect(status.description == "c;ttl=\(seconds)")
    }

    private func fields(_ value: String) -> HTTPFields {
        guard let name = HTTPField.Name("cache-status") else { return [:] }
        return [name: value]
    }
}
