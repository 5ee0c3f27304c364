import Foundation
import Testing

@testable import Decorum

extension Data {
    /// The bytes in a content coding, which the tests need and no user does.
    func coded(_ coding: ContentCoding) throws -> Data {
        try #require(try ContentEncoder(coding)?.encode(self, flush: .end))
    }
}

extension Data {
    /// A zip archive of files (APPNOTE.TXT of PKWARE, version 6.3), which the tests need and no user does.
    static func zipped(_ files: [(name: String, content: Data)]) throws -> Data {
        var archive = Data()
        var directory = Data()
        for (name, content) in files {
            // gzip (RFC 1952) puts ten bytes before the coded content, and the checksum and the length behind it.
            let gzip = try content.coded(.gzip)
            let coded = Data(gzip.dropFirst(10).dropLast(8))
            let numbers: [(value: Int, size: Int)] = [(20, 2), (0, 2), (8, 2), (0, 4)]
            let lengths: [(value: Int, size: Int)] = [
                (coded.count, 4), (content.count, 4), (name.utf8.count, 2), (0, 2),
            ]
            let head = littleEndian(numbers) + Data(gzip.suffix(8).prefix(4)) + littleEndian(lengths)
            directory.append(contentsOf: [0x50, 0x4B, 0x01, 0x02])
            directory.append(littleEndian([(20, 2)]))
            directory.append(head)
            directory.append(littleEndian([(0, 10), (archive.count, 4)]))
            directory.append(contentsOf: name.utf8)
            archive.append(contentsOf: [0x50, 0x4B, 0x03, 0x04])
            archive.append(head)
            archive.append(contentsOf: name.utf8)
            archive.append(coded)
        }
        let start = archive.count
        archive.append(directory)
        archive.append(contentsOf: [0x50, 0x4B, 0x05, 0x06])
        archive.append(
            littleEndian([(0, 4), (files.count, 2), (files.count, 2), (directory.count, 4), (start, 4), (0, 2)]))
        return archive
    }

    /// Numbers of some bytes each, the lowest byte first.
    private static func littleEndian(_ numbers: [(value: Int, size: Int)]) -> Data {
        let bytes: [UInt8] = numbers.flatMap { value, size in
            (0..<size).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        return Data(bytes)
    }
}
