import DecorumTesting
import HTTPTypes
import Testing

@Suite struct RawFieldsTests {
    private let fields: RawFields = ["A": "1", "b": "2", "a": "3"]

    @Test func `Values are found in any letter case and in order`() {
        #expect(fields.values(of: "a") == ["1", "3"])
        #expect(fields["A"] == "1, 3")
        #expect(fields["c"] == nil)
    }

    @Test func `Order, number and spelling count`() {
        #expect(fields != ["a": "1", "b": "2", "a": "3"])
        #expect(fields != ["b": "2", "A": "1", "a": "3"])
        #expect(fields.lines.map(\.name) == ["A", "b", "a"])
    }
}
