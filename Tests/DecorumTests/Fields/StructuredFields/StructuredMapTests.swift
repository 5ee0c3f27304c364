import Decorum
import Testing

@Suite struct StructuredMapTests {
    @Test func `Keys keep their places when values are replaced, and lose them when removed`() {
        var map: StructuredParameters = ["b": 1, "a": 2, "c": 3]
        map["b"] = "x"
        map["d"] = false
        map["a"] = nil
        map["missing"] = nil

        #expect(map.keys == ["b", "c", "d"])
        #expect(map == ["b": "x", "c": 3, "d": false])
        #expect(map.map(\.value) == ["x", 3, false])
        #expect(map["a"] == nil)
        #expect(map.count == 3)
    }

    @Test(arguments: [0, 1, 7, 8, 9, 10, 11, 40]) func `Few keys and many behave the same`(count: Int) {
        var map = StructuredParameters()
        for number in 0..<count { map["k\(number)"] = .integer(Int64(number)) }
        for number in stride(from: 0, to: count, by: 2) { map["k\(number)"] = .integer(Int64(-number)) }
        for number in stride(from: 0, to: count, by: 3) { map["k\(number)"] = nil }
        map["k0"] = "last"

        let left = (0..<count).filter { !$0.isMultiple(of: 3) }
        #expect(map.keys == left.map { "k\($0)" } + ["k0"])
        for number in left {
            #expect(map["k\(number)"] == .integer(Int64(number.isMultiple(of: 2) ? -number : number)))
        }
        #expect(map["k0"] == "last")
        #expect(map["k3"] == nil)
    }
}
