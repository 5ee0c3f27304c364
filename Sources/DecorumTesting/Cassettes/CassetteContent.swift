import Decorum
import DecorumArchive
import Foundation

/// The content of a cassette's file.
///
/// The format "cassette 1" is decoded when needed; all other formats are decoded at once.
struct CassetteContent: Sendable {
    static let none = CassetteContent()

    private(set) var reader: CassetteReader?
    /// The interactions of a file in any other format, or as the rules have rewritten them before matching.
    private var decoded: [Interaction] = []
    /// Whether the file is an HTTP archive, or a cassette of another tool.
    private(set) var isImported = false
    /// The name of a format that is only read; nil for an HTTP archive that may also be written.
    private(set) var readOnlyFormat: String?
    /// The placeholders of each request, where a tool wrote names such as `<API_KEY>`, which match any value; nil otherwise.
    private(set) var placeholders: [Set<[UInt8]>]?
    /// What the reader of the format had to guess, change or leave out.
    private(set) var losses: [ImportWarning] = []

    private init() {}

    /// The content of no file.
    init(holding interactions: [Interaction]) { decoded = interactions }

    init(reading file: URL, as form: CassetteRules.Content, formats: [any ForeignFormat] = []) throws {
        let bytes = try Self.bytes(of: file)
        guard bytes.contains(where: { $0 > 0x20 }) else {
            throw CassetteError(file: file.relativePath, reason: "it is empty; \(CassetteReader.remedy)")
        }
        do {
            try self.init(bytes, of: file, as: form, formats: formats)
        } catch {
            throw Self.conflict(in: bytes, of: file) ?? error
        }
    }

    init(of file: URL, at stamp: FileStamp?, _ rules: CassetteRules, in shared: SharedCassettes?) throws {
        func read() throws -> CassetteContent {
            try CassetteContent(reading: file, as: rules.content, formats: rules.formats)
        }
        guard let shared, let stamp else {
            self = try read()
            return
        }
        self = try shared.content(of: file, at: stamp, reading: read)
    }

    private init(_ bytes: [UInt8], of file: URL, as form: CassetteRules.Content, formats: [any ForeignFormat]) throws {
        guard !CassetteReader.recognizes(bytes) else {
            reader = try CassetteReader(bytes, of: file)
            return
        }
        let imported = try ImportedCassette(
            Data(bytes), named: file.relativePath, folder: file.deletingLastPathComponent(), formats: formats)
        // A cassette takes the place of a transport, and a transport undoes content codings.
        let played = form == .decoded ? try imported.decodingContent() : imported
        (isImported, decoded, losses) = (true, played.interactions, played.warnings.filter(\.isLoss))
        readOnlyFormat = imported.readOnlyFormat(isJSON: Self.isJSON(bytes))
        guard imported.draft.hasNamedPlaceholders else { return }
        placeholders = decoded.map { $0.request.placeholders(named: true) }
        for index in decoded.indices { decoded[index].request = Placeholder.masked(decoded[index].request) }
    }

    func rewritten(by rules: CassetteRules) throws -> CassetteContent {
        guard let rewrite = rules.beforeMatching else { return self }
        var content = CassetteContent()
        content.decoded = try interactions().compactMap(rewrite)
        return content
    }

    /// Whether a file is JSON, and neither compressed nor YAML.
    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return bytes[start...].first { $0 > 0x20 } == UInt8(ascii: "{")
    }

    var count: Int { reader?.entries.count ?? decoded.count }

    var urls: [String] { (0..<count).map(url) }

    /// Passes the method and the URL of each request, in a request whose other properties have no meaning.
    func forEachTarget(_ body: (_ target: inout RecordedRequest) -> Void) {
        // One value is reused, because creating a request takes longer than reading its target.
        var target = RecordedRequest(method: "", url: "")
        let targets = reader?.entries.map { ($0.method, $0.url) } ?? decoded.map { ($0.request.method, $0.request.url) }
        for (method, url) in targets {
            (target.method, target.url) = (method, url)
            body(&target)
        }
    }

    var text: [UInt8] { reader?.bytes ?? [] }

    func text(without ordinals: Set<Int>) -> [UInt8] {
        guard let reader, !ordinals.isEmpty else { return text }
        return reader.entries.indices.filter { !ordinals.contains($0) }.flatMap {
            reader.bytes[reader.entries[$0].range]
        }
    }

    func request(at index: Int) throws -> RecordedRequest {
        try reader?.request(at: index) ?? decoded[index].request
    }

    /// The request at an index, without its fields if neither fields nor content can matter.
    func request(at index: Int, for rules: [MatchingRule]) throws -> RecordedRequest {
        rules.contains(where: \.readsFields) ? try request(at: index) : try target(at: index)
    }

    /// The method and the URL of a request, and all else too if it has content.
    func target(at index: Int) throws -> RecordedRequest {
        guard let entry = reader?.entries[index], !entry.hasContent else { return try request(at: index) }
        return RecordedRequest(method: entry.method, url: entry.url)
    }

    func url(at index: Int) -> String { reader?.entries[index].url ?? decoded[index].request.url }

    /// Whether a request has content, or anything else beyond its target and its fields.
    func hasContent(at index: Int) -> Bool {
        reader?.entries[index].hasContent ?? !decoded[index].request.body.bytes.isEmpty
    }

    func outcome(at index: Int) throws -> RecordedOutcome {
        if let reader { return try reader.outcome(at: index) }
        return RecordedOutcome(response: decoded[index].response, failure: decoded[index].failure, ordinal: index)
    }

    func interaction(at index: Int) throws -> Interaction {
        try reader?.interaction(at: index) ?? decoded[index]
    }

    func interactions() throws -> [Interaction] { try (0..<count).map { try interaction(at: $0) } }

    /// Whether the content of a response ends before its end, because the recorder stopped there.
    func isCut(at index: Int) -> Bool { reader?.isCut(at: index) ?? decoded[index].failure?.isCut ?? false }

    /// The day on which an interaction was recorded, or the exact time if the format has one.
    func recordedAt(_ index: Int) -> Date? {
        if let reader { reader.recordedAt(index) } else { decoded[index].recordedAt }
    }

    /// Whether an interaction was recorded before a date; false if one of the dates is absent.
    func isOlder(_ index: Int, than date: Date?) -> Bool {
        guard let date, let recorded = recordedAt(index) else { return false }
        return recorded < date
    }

    func tests(of index: Int) -> [String] { reader?.tests(of: index) ?? decoded[index].tests }

    var testNames: Set<String> { Set((0..<count).flatMap(tests)) }

    /// The line on which an interaction begins; nil in any format but "cassette 1".
    func line(of index: Int) -> Int? { reader?.line(of: index) }
}

extension ImportedCassette {
    /// The name of the format, if files in it are not written.
    ///
    /// Some recorders read only archives that follow their own rules, and find nothing in an archive written here.
    fileprivate func readOnlyFormat(isJSON: Bool) -> String? {
        guard format == "HAR" else { return format }
        guard isJSON else { return "HAR that is not plain JSON" }
        return draft.isComplete ? nil : "HAR with exchanges that had to be left out"
    }
}

extension CassetteContent {
    static let limit = 256 << 20

    /// The error of a file in which a merge has left the marks of a conflict; nil if it has none.
    static func conflict(in bytes: [UInt8], of file: URL) -> CassetteError? {
        let mark = Array("<<<<<<< ".utf8)
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard let index = lines.firstIndex(where: { $0.starts(with: mark) }) else { return nil }
        return CassetteError(
            file: file.relativePath, place: "line \(index + 1)",
            reason:
                "a merge has left a conflict there; keep the interactions of both sides, but no copies, and delete the "
                + "lines with `<<<<<<<`, `=======` and `>>>>>>>`, or delete the file and record it again")
    }

    static func bytes(of file: URL) throws(CassetteError) -> [UInt8] {
        do {
            let path = file.resolvingSymlinksInPath().path
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            guard size <= limit else {
                throw CassetteError(
                    file: file.relativePath, reason: "it has \(size) bytes, and at most \(limit) are read")
            }
            return Array(try Data(contentsOf: file))
        } catch let error as CassetteError {
            throw error
        } catch {
            throw CassetteError(file: file.relativePath, reason: "it cannot be read from the disk")
        }
    }
}

/// One opening of a shared file by a test, to which the recordings that are made with it belong.
///
/// A test may open the file several times, and the cases of a parameterised test whose arguments are not known are openings
/// of one test.
struct TestOpening: Hashable, Sendable {
    let test: String
    let number: Int

    var name: String { number == 1 ? test : "\(test) \(number)" }

    func isOfSameTest(_ name: String) -> Bool {
        guard name.hasPrefix(test) else { return false }
        let rest = name.utf8.dropFirst(test.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: " ") && Int(Substring(rest.dropFirst())) != nil
    }
}

/// The interactions of a file by the tests that have recorded them, as one test sees them.
struct InteractionOwners: Sendable {
    /// The interactions of other tests and of other openings by this test, which answer only if no interaction of its own does.
    private(set) var foreign: Set<Int> = []
    /// Those among ``foreign`` that answer no request of the test.
    private(set) var withheld: Set<Int> = []
    /// The interactions that belong to no test, and so to each.
    private(set) var unowned: Set<Int> = []
    private(set) var hasOwn = false
    private var count = 0

    /// The owners of a file that is not shared: nothing in it belongs to another test.
    init() {}

    /// The owners as a test of a suite sees them; as in a file that is not shared if the test is unknown.
    init(of content: CassetteContent, for opening: TestOpening?) {
        guard let opening else { return }
        let name = opening.name
        count = content.count
        for ordinal in 0..<count {
            let tests = content.tests(of: ordinal)
            if tests.isEmpty {
                unowned.insert(ordinal)
            } else if tests.contains(name) {
                hasOwn = true
            } else {
                foreign.insert(ordinal)
                if !tests.contains(where: opening.isOfSameTest) { withheld.insert(ordinal) }
            }
        }
        // A file was recorded without the suite, or before tests were named, if an interaction has no test: it lends all.
        if !unowned.isEmpty { withheld = [] }
    }

    /// Whether other tests have recorded the whole file, so that this one has nothing in it yet.
    var isNewTest: Bool { count > 0 && foreign.count == count }

    /// Whether no interaction of the file answers the test, since other tests have recorded all of them.
    var answerNothing: Bool { count > 0 && withheld.count == count }

    /// Whether the age of an interaction matters to the test: its own do, or without any the ones of no test.
    func areOf(_ ordinal: Int) -> Bool {
        !foreign.contains(ordinal) && (!hasOwn || !unowned.contains(ordinal))
    }
}
