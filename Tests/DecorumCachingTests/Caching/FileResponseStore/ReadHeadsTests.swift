import HTTPTypes
import Testing

@testable import Decorum

@Suite struct ReadHeadsTests {
    @Test(arguments: [(100, true), (5000, false)]) func `A large head is not cached`(
        length: Int, isRemembered: Bool
    ) throws {
        let key = try SampleResponse.key(1)
        let response = SampleResponse.response(1, fields: [.server: String(repeating: "a", count: length)])
        let bytes = try #require(ResponseFileHead.bytes(of: response, key: key, time: 0))
        let head = try #require(unsafe bytes.withUnsafeBytes { unsafe ResponseFileHead($0, key: key) })
        let layout = ResponseFileLayout(
            nonce: 1, headLength: bytes.count, bodyLength: 0, headChecksum: 2, tableChecksum: 3)
        let heads = ReadHeads()
        heads.note(head, layout, key: key)
        #expect((heads.head(layout, key: key) != nil) == isRemembered)
    }
}
