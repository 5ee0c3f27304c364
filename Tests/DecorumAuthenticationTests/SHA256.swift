#if canImport(CryptoKit)
import CryptoKit

typealias SHA256 = CryptoKit.SHA256
#else
import Foundation

/// SHA-256 by the program of the system, since the package depends on no library that has it.
enum SHA256 {
    /// The digest; empty where there is no such program, which no proof key accepts.
    static func hash(data: Data) -> [UInt8] {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["sha256sum"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        guard (try? process.run()) != nil else { return [] }
        try? input.fileHandleForWriting.write(contentsOf: data)
        try? input.fileHandleForWriting.close()
        let digits = output.fileHandleForReading.readDataToEndOfFile().prefix { $0 != 0x20 }
        process.waitUntilExit()
        let text = String(decoding: digits, as: UTF8.self)
        return stride(from: 0, to: text.utf8.count & ~1, by: 2).compactMap { offset in
            UInt8(text.dropFirst(offset).prefix(2), radix: 16)
        }
    }
}
#endif
