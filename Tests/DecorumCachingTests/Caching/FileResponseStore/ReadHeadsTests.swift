import HTTPTypes
import Testing

@testable import Decorum

@Suite struct ReadHeadsTests {
    @Test(arguments: [(100, true), (5000, false)]) func `A large head is not cached`(
        length: Int, isRemembered: Bool
    ) throws {
        let key = try SampleResponse.key(1)
        let response = SampleResponse.response(1, fields: [.server: String(repeating: "a", count: length)])
        let bytes = try #require(ResponseFileHead.bytes(of: response, key: key))
        let head = try #require(unsafe bytes.withUnsafeBytes { unsafe ResponseFileHead($0, key: key) })
        let slotBytes =
            ResponseHeadSlot.bytes(number: 1, sent: 0, head: bytes, nonce: 1)
            + [UInt8](repeating: 0, count: ResponseHeadSlot.prefixLength + bytes.count)
        let slot = try #require(
            unsafe slotBytes.withUnsafeBytes { unsafe ResponseHeadSlot.newest(in: $0, nonce: 1)?.slot })
        let heads = ReadHeads()
        heads.note(head, slot, nonce: 1, key: key)
        #expect((heads.head(slot, nonce: 1, key: key) != nil) == isRemembered)
        #expect(heads.head(slot, nonce: 2, key: key) == nil)
    }
}
