import Foundation
import Testing

@testable import Decorum

@Suite struct URLSessionSpoolFileTests {
    @Test func `Bytes that were written can be read from any offset`() throws {
        let file = try URLSessionSpoolFile()
        try file.write(Data("hello "), at: 0)
        try file.write(Data("world"), at: 6)

        #expect(try file.length() == 11)
        #expect(try file.read(11, at: 0) == Data("hello world"))
        #expect(try file.read(2, at: 4) == Data("o "))
        #expect(try file.read(12, at: 6) == Data("world"))
        #expect(try file.read(1, at: 11).isEmpty)
    }

    @Test func `An existing file can be read and not written`() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("spool-\(SystemGenerator().next())")
        defer { try? FileManager.default.removeItem(at: url) }
        try Data("hello").write(to: url)

        let file = try URLSessionSpoolFile(reading: url)
        #expect(try file.read(5, at: 0) == Data("hello"))
        #expect(throws: POSIXError.self) { try file.write(Data("x"), at: 0) }
    }

    @Test func `A missing file cannot be opened`() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("none-\(SystemGenerator().next())")

        #expect(throws: POSIXError.self) { try URLSessionSpoolFile(reading: url) }
    }
}

extension Data {
    fileprivate init(_ text: String) {
        self.init(text.utf8)
    }
}
