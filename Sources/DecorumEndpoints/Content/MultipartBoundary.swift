import Decorum
import Foundation

/// The choice of a text that separates the parts and occurs in none of them.
enum MultipartBoundary {
    private static let length = 32
    private static let tryLimit = 100

    /// Chooses a boundary of 160 random bits.
    ///
    /// The content of files and streams is not searched, since it would have to be read twice; 160 random bits are not in it by
    /// chance, and no content can be made with them beforehand.
    ///
    /// - Throws: `InvalidRequestError` where a generator repeats itself and its numbers are in the content.
    static func choose(for parts: [Multipart.Part], _ generator: any RandomGenerator) throws(InvalidRequestError)
        -> String
    {
        for _ in 0..<tryLimit {
            let boundary = "decorum-" + random(generator)
            let pattern = Array(boundary.utf8)
            if !parts.contains(where: { $0.body.bytes.map { contains(pattern, in: $0) } ?? false }) { return boundary }
        }
        throw InvalidRequestError(
            .invalidBody,
            "The generator gives no boundary that is not in the content of the form; give it another seed.")
    }

    private static func random(_ generator: any RandomGenerator) -> String {
        let digits = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        var text: [UInt8] = []
        while text.count < length {
            var bits = generator.next()
            for _ in 0..<min(12, length - text.count) {
                text.append(digits[Int(bits & 31)])
                bits >>= 5
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns whether bytes contain a pattern (Boyer–Moore–Horspool), which looks at one byte in forty of most content.
    static func contains(_ pattern: [UInt8], in data: Data) -> Bool {
        guard data.count >= pattern.count, let last = pattern.indices.last else { return false }
        var shifts = [Int](repeating: pattern.count, count: 256)
        for index in 0..<last { shifts[Int(pattern[index])] = last - index }
        // This is safe because the bytes are read only inside the closure, and only up to their count.
        return unsafe data.withUnsafeBytes { bytes in
            var place = last
            while place < bytes.count {
                let byte = unsafe bytes[place]
                if byte == pattern[last], unsafe bytes[(place - last)...place].elementsEqual(pattern) { return true }
                place += shifts[Int(byte)]
            }
            return false
        }
    }
}
