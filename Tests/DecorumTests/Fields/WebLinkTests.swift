import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// RFC 8288, section 3, as servers use it for pages.
@Suite struct WebLinkTests {
    private func response(_ values: [String], from url: String? = "https://api.example.com/v1/items?page=2") throws
        -> Response
    {
        var response = Response(status: .ok)
        let name = try #require(HTTPField.Name("Link"))
        for value in values { response.head.headerFields.append(HTTPField(name: name, value: value)) }
        response.metadata.url = url.flatMap { URL(string: $0) }
        return response
    }

    @Test(
        arguments: [
            (
                [
                    #"<https://api.example.com/v1/items?page=3>; rel="next", <https://api.example.com/v1/items?page=9>; rel="last""#
                ],
                "https://api.example.com/v1/items?page=3"
            ),
            ([#"<?page=1>; rel="prev""#, #"<?page=3>;rel=next"#], "https://api.example.com/v1/items?page=3"),
            (
                [#"</v2/items?ids=1,2;3>; title="a, <b>; rel=\"next\""; REL = "last NEXT""#],
                "https://api.example.com/v2/items?ids=1,2;3"
            ),
            ([#"<https://b.example/>; rel="https://b.example/rel next""#], "https://b.example/"),
            ([#", , <x> ;rel=next"#], "https://api.example.com/v1/x"),
            ([#"<x>; rel=last; rel=next"#], nil), ([#"<x>; rel=next; anchor="/other""#], nil), (["<x>"], nil),
            ([], nil),
            ([#"x; rel=next"#], nil), ([#"<x; rel=next"#], nil), ([#"<x>; rel="#], nil), ([#"<x y>; rel=next"#], nil),
        ] as [([String], String?)])
    func `The next page is found`(values: [String], url: String?) throws {
        #expect(try response(values).link("next")?.absoluteString == url)
        #expect(try response(values).link("Next")?.absoluteString == url)
    }

    @Test func `A relative link in a response without a URL has none`() throws {
        #expect(try response(["<x>; rel=next"], from: nil).link("next") == nil)
        #expect(try response(["<https://a.example/>; rel=next"], from: nil).link("next") != nil)
    }

    @Test(arguments: 1...200) func `No value breaks the reading`(seed: UInt64) throws {
        let generator = SeededGenerator(seed: seed)
        let alphabet = Array(#"<>;,="\ relnxtanchor/?:"#)
        let text = String((0..<Int(generator.next() % 60)).map { _ in alphabet[Int(generator.next() % 23)] })
        let links = WebLink.links(in: try response([text]).head.headerFields)
        #expect(links.count <= text.count / 2)
    }
}
