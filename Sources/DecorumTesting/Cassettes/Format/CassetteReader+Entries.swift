import Decorum
import DecorumArchive

extension CassetteReader {
    /// The interactions of a file, with their positions.
    static func entries(of bytes: [UInt8]) throws -> [Entry] {
        guard !bytes.isEmpty else { throw JSONSyntaxError(reason: "it is empty", offset: 0) }
        guard isASCII(bytes) || String(validating: bytes, as: UTF8.self) != nil else {
            throw JSONSyntaxError(reason: "it is not UTF-8", offset: 0)
        }
        var scanner = JSONScanner(bytes)
        var foundVersion: Int?
        var entries: [Entry]?
        try scanner.object { name, scanner in
            switch name {
            case "cassette":
                guard foundVersion == nil else { throw scanner.fault("it has two versions") }
                let range = try scanner.skipValue()
                foundVersion = Int(String(decoding: bytes[range], as: UTF8.self))
                guard foundVersion == version else {
                    throw JSONSyntaxError(reason: fault(ofVersion: foundVersion), offset: range.lowerBound)
                }
            case "interactions":
                guard entries == nil else { throw scanner.fault("it has two lists of interactions") }
                entries = try self.entries(&scanner)
            default: _ = try scanner.skipValue()
            }
        }
        try scanner.expectEnd()
        guard foundVersion != nil else { throw JSONSyntaxError(reason: "it has no version", offset: 0) }
        guard let entries else { throw JSONSyntaxError(reason: "it has no list of interactions", offset: 0) }
        return entries
    }

    /// The fault of a version that is not known; nil stands for one that is no whole number.
    private static func fault(ofVersion found: Int?) -> String {
        guard let found, found > version else { return "its version is not \(version), the only one that is known" }
        return "its version is \(found): a later version of Decorum has written it, so update the package"
    }

    /// Whether a file is ASCII, which takes far less time to find out than to copy it into a text.
    private static func isASCII(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { buffer in
            var index = 0
            while index + 8 <= buffer.count {
                let word = unsafe buffer.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                guard word & 0x8080_8080_8080_8080 == 0 else { return false }
                index += 8
            }
            return unsafe buffer[index...].allSatisfy { $0 < 0x80 }
        }
    }

    /// The size of a small interaction in a file.
    private static let bytesOfEntry = 400
    /// The largest number of interactions for which room is made before they are read.
    private static let mostReserved = 1 << 17

    private static let interactionMembers: [MemberName] = ["request", "response", "error", "tests"]

    private static func entries(_ scanner: inout JSONScanner) throws -> [Entry] {
        var entries: [Entry] = []
        // An array that grows copies its elements each time.
        entries.reserveCapacity(min(scanner.bytes.count / bytesOfEntry, mostReserved))
        try scanner.array { scanner in
            _ = try scanner.peek()
            let start = scanner.position
            var found: Entry?
            var response: Range<Int>?
            var failure: Range<Int>?
            var day: Range<Int>?
            var tests: Range<Int>?
            var hasUnknown = false
            try members(&scanner) { name, scanner in
                switch name {
                case "request":
                    try expectFirst(found == nil, "request", scanner)
                    found = try entry(&scanner)
                case "response":
                    try expectFirst(response == nil, "response", scanner)
                    response = try scanner.skipValue()
                case "error":
                    try expectFirst(failure == nil, "error", scanner)
                    failure = try scanner.skipValue()
                case "at":
                    try expectFirst(day == nil, "at", scanner)
                    day = try scanner.skipValue()
                case "tests":
                    try expectFirst(tests == nil, "tests", scanner)
                    tests = try scanner.skipValue()
                default:
                    hasUnknown = true
                    _ = try scanner.skipValue()
                }
            }
            let range = start..<scanner.position
            guard var found else { throw try CassetteMembers(scanner.bytes, in: range).missing("request") }
            guard response != nil || failure != nil else {
                throw try CassetteMembers(scanner.bytes, in: range)
                    .missing("response", "error", reason: "it has neither a `response` nor an `error`")
            }
            if hasUnknown { try CassetteMembers(scanner.bytes, in: range).refuseMisspelled(interactionMembers) }
            found.range = range
            found.response = response
            found.failure = failure
            found.day = day
            found.tests = tests
            entries.append(found)
        }
        return entries
    }

    private static func entry(_ scanner: inout JSONScanner) throws -> Entry {
        _ = try scanner.peek()
        let start = scanner.position
        var method: String?
        var url: String?
        var hasFields = false
        var hasContent = false
        try members(&scanner) { name, scanner in
            switch name {
            case "method":
                try expectFirst(method == nil, "method", scanner)
                method = try scanner.string()
            case "url":
                try expectFirst(url == nil, "url", scanner)
                url = try scanner.string()
            case "headers":
                try expectFirst(!hasFields, "headers", scanner)
                hasFields = true
                _ = try scanner.skipValue()
            default:
                hasContent = true
                _ = try scanner.skipValue()
            }
        }
        let range = start..<scanner.position
        guard let method, let url else {
            throw try CassetteMembers(scanner.bytes, in: range).missing(method == nil ? "method" : "url")
        }
        return Entry(range: range, request: range, method: method, url: url, hasContent: hasContent)
    }

    /// Reads an object; the closure gets the name of each member, nil if the format has none like it, and has to consume
    /// the value.
    ///
    /// `JSONScanner.object` makes a text of each name, which takes as long as all else.
    private static func members(
        _ scanner: inout JSONScanner, _ member: (_ name: MemberName?, _ scanner: inout JSONScanner) throws -> Void
    ) throws {
        try scanner.expect(UInt8(ascii: "{"))
        guard try !scanner.skip(UInt8(ascii: "}")) else { return }
        repeat {
            let name = try scanner.skipString()
            try scanner.expect(UInt8(ascii: ":"))
            try member(MemberName(scanner.bytes, in: name), &scanner)
        } while try scanner.skip(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
    }

    /// Throws if a member occurs twice, because other readers would take the other one.
    private static func expectFirst(
        _ isFirst: Bool, _ name: @autoclosure () -> String, _ scanner: JSONScanner
    ) throws {
        guard isFirst else { throw scanner.fault("the member \"\(name())\" occurs twice") }
    }
}
