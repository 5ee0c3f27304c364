import Decorum
import HTTPTypes
import Testing

/// The listings of the structured fields.
@Suite struct StructuredFieldListings {
    @Test func item() throws {
        let item = try StructuredItem(parsing: "text/html; charset=utf-8")
        let charset = item.parameters["charset"]?.token

        #expect(charset == "utf-8")
    }

    @Test func list() throws {
        var request = try Request.get("https://example.com")
        request.head.headerFields[.acceptEncoding] = "gzip, br;q=0.5"
        let list = try StructuredList(.acceptEncoding, in: request.head.headerFields)
        let codings = list.members.compactMap { $0.item?.value.token }

        #expect(codings == ["gzip", "br"])
    }

    @Test func dictionary() throws {
        var request = try Request.get("https://example.com")
        var priority: StructuredDictionary = ["u": StructuredMember(2)]
        priority["i"] = StructuredMember(true)
        request.head.headerFields[.priority] = try priority.serialized()

        #expect(request.head.headerFields[.priority] == "u=2, i")
    }

    func cacheStatus(response: Response) {
        for status in CacheStatus.list(in: response.head.headerFields) where status.isHit {
            print("\(status.cache) had it")
        }
    }
}
