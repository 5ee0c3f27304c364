/// Undoes DEFLATE (RFC 1951).
///
/// A system library that does this on every platform would have to be linked for all users.
struct Inflater {
    /// Decompresses from an index on; nil if the stream is broken or the output exceeds `limit` bytes.
    ///
    /// - Returns: The bytes, and the index behind the stream.
    static func inflate(_ bytes: [UInt8], from start: Int, limit: Int) -> (output: [UInt8], end: Int)? {
        var inflater = Inflater(bytes: bytes, index: start, limit: limit)
        return inflater.run() ? (inflater.output, inflater.index) : nil
    }

    private let bytes: [UInt8]
    private var index: Int
    private let limit: Int
    private var output: [UInt8] = []
    private var buffer: UInt32 = 0
    private var count = 0

    private init(bytes: [UInt8], index: Int, limit: Int) {
        self.bytes = bytes
        self.index = index
        self.limit = limit
    }

    private mutating func run() -> Bool {
        var isLast = false
        while !isLast {
            guard let last = bits(1), let kind = bits(2) else { return false }
            isLast = last == 1
            let isRead =
                switch kind {
                case 0: readStored()
                case 1: readCompressed(Self.fixedLengths, Self.fixedDistances)
                case 2: readDynamic()
                default: false
                }
            guard isRead else { return false }
        }
        return true
    }

    private mutating func bits(_ need: Int) -> Int? {
        while count < need {
            guard index < bytes.count else { return nil }
            buffer |= UInt32(bytes[index]) << UInt32(count)
            index += 1
            count += 8
        }
        let value = buffer & (1 << UInt32(need) - 1)
        buffer >>= UInt32(need)
        count -= need
        return Int(value)
    }

    private mutating func readStored() -> Bool {
        buffer = 0
        count = 0
        guard index + 4 <= bytes.count else { return false }
        let length = Int(bytes[index]) | Int(bytes[index + 1]) << 8
        let complement = Int(bytes[index + 2]) | Int(bytes[index + 3]) << 8
        index += 4
        guard length == ~complement & 0xFFFF, index + length <= bytes.count, output.count + length <= limit else {
            return false
        }
        output += bytes[index..<index + length]
        index += length
        return true
    }

    private mutating func readDynamic() -> Bool {
        guard let lengthCount = bits(5), let distanceCount = bits(5), let codeCount = bits(4) else { return false }
        var codeLengths = [Int](repeating: 0, count: 19)
        for position in 0..<codeCount + 4 {
            guard let length = bits(3) else { return false }
            codeLengths[Self.codeOrder[position]] = length
        }
        guard let codes = HuffmanCode(codeLengths) else { return false }
        let total = lengthCount + 257 + distanceCount + 1
        var lengths: [Int] = []
        while lengths.count < total {
            guard let symbol = symbol(codes) else { return false }
            var repeated = symbol
            var times: Int? = 1
            switch symbol {
            case 16:
                guard let last = lengths.last else { return false }
                repeated = last
                times = bits(2).map { $0 + 3 }
            case 17:
                repeated = 0
                times = bits(3).map { $0 + 3 }
            case 18:
                repeated = 0
                times = bits(7).map { $0 + 11 }
            default: break
            }
            guard let times, lengths.count + times <= total else { return false }
            lengths += repeatElement(repeated, count: times)
        }
        guard lengths[256] > 0, let literals = HuffmanCode(Array(lengths[..<(lengthCount + 257)])),
            let distances = HuffmanCode(Array(lengths[(lengthCount + 257)...]))
        else { return false }
        return readCompressed(literals, distances)
    }

    private mutating func readCompressed(_ literals: HuffmanCode, _ distances: HuffmanCode) -> Bool {
        while true {
            guard let symbol = symbol(literals), symbol <= 285 else { return false }
            if symbol == 256 { return true }
            if symbol < 256 {
                guard output.count < limit else { return false }
                output.append(UInt8(symbol))
                continue
            }
            let row = symbol - 257
            guard let more = bits(Self.lengthBits[row]), let code = self.symbol(distances), code < 30,
                let further = bits(Self.distanceBits[code])
            else { return false }
            let length = Self.lengthBases[row] + more
            let distance = Self.distanceBases[code] + further
            guard distance <= output.count, output.count + length <= limit else { return false }
            let start = output.count - distance
            for offset in 0..<length { output.append(output[start + offset]) }
        }
    }

    private mutating func symbol(_ code: HuffmanCode) -> Int? {
        var value = 0
        var first = 0
        var position = 0
        for length in 1...HuffmanCode.longest {
            guard let bit = bits(1) else { return nil }
            value |= bit
            let count = code.counts[length]
            if value - count < first { return code.symbols[position + value - first] }
            position += count
            first = (first + count) << 1
            value <<= 1
        }
        return nil
    }
}

/// A canonical Huffman code (RFC 1951, section 3.2.2).
struct HuffmanCode {
    static let longest = 15

    /// The number of symbols of each length.
    let counts: [Int]
    /// The symbols in the order of their codes.
    let symbols: [Int]

    /// Creates a code from the length of each symbol; nil if there are more symbols than such lengths can encode.
    init?(_ lengths: [Int]) {
        var counts = [Int](repeating: 0, count: Self.longest + 1)
        for length in lengths { counts[length] += 1 }
        var left = 1
        for length in 1...Self.longest {
            left = left << 1 - counts[length]
            guard left >= 0 else { return nil }
        }
        counts[0] = 0
        self.counts = counts
        symbols = lengths.indices.filter { lengths[$0] > 0 }.sorted { (lengths[$0], $0) < (lengths[$1], $1) }
    }
}

extension Inflater {
    private static let codeOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    private static let lengthBases = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227,
        258,
    ]
    private static let lengthBits = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ]
    private static let distanceBases = [
        1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097,
        6145,
        8193, 12_289, 16_385, 24_577,
    ]
    private static let distanceBits = [
        0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
    ]
    private static let fixedLengths =
        HuffmanCode((0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 }) ?? .empty
    private static let fixedDistances = HuffmanCode([Int](repeating: 5, count: 30)) ?? .empty
}

extension HuffmanCode {
    fileprivate static let empty = HuffmanCode()

    private init() {
        counts = [Int](repeating: 0, count: Self.longest + 1)
        symbols = []
    }
}
