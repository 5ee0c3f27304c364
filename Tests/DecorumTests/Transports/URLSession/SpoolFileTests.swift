import Foundation
import Testing

@testable import Decorum

@Suite struct SpoolFileTests {
    @Test func `What is written can be read from any offset`() throws {
        let file = try SpoolFile(named: false)
        try file.write(Data("hello "), at: 0)
        try file.write(Data("world"), at: 6)

        #expect(try file.read(11, at: 0) == Data("hello world"))
        #expect(try file.read(2, at: 4) == Data("o "))
        #expect(throws: POSIXError.self) { try file.read(12, at: 0) }
    }

    @Test func `A named file is for its owner alone and goes with the value`() throws {
        var file: SpoolFile? = try SpoolFile(named: true)
        let path = try #require(file?.url).path

        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        file = nil
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `A file without a name has no URL`() throws {
        #expect(try SpoolFile(named: false).url == nil)
    }
}

extension Data {
    fileprivate init(_ text: String) {
        self.init(text.utf8)
    }
}
