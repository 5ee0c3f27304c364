#if CommandLine
import ArgumentParser
import DecorumSecrets
import Foundation

/// The options for the requests themselves.
struct ContentOptions: ParsableArguments {
    @Option(name: [.customLong("method"), .customShort("X")], help: "The method.") var method: String?
    @Option(name: [.long, .customShort("H")], help: ArgumentHelp("Send a field.", valueName: "name: value"))
    var header: [String] = []
    @Option(help: "Send the fields of a file: a JSON object of texts, or one field a line.", completion: .file())
    var headersFile: String?
    @Flag(help: "Send items as JSON (default), as a form, or as a multipart form.") var form: RequestPlan.Form?
    @Option(name: [.long, .customLong("raw")], help: "Send a text, @FILE, or - for the standard input.")
    var body: String?
    @Option(help: "Send a request to each URL of a file; - for the standard input.", completion: .file())
    var urlsFrom: String?
    @Option(help: "Send so many of them at the same time; one where heads or content are printed as is.")
    var parallel = 8
    @Flag(help: "End with the first failure.") var failFast = false

    /// A way to make the request of some words, with the fields of the options and of their file, which is read once.
    func plans() throws -> @Sendable (_ words: [String]) throws -> RequestPlan {
        let fields = try headersFile.map { try FieldFile.fields(try InputFile.data($0)) } ?? []
        return { [self] in try RequestPlan($0, method: method, form: form, body: body, fields: fields + header) }
    }
}

/// A file with fields, which are lines as for the option: a JSON object of texts, or one field a line.
enum FieldFile {
    static func fields(_ document: Data) throws(CommandFailure) -> [String] {
        let text = String(decoding: document, as: UTF8.self)
        guard text.drop(while: \.isWhitespace).first == "{" else {
            return text.split(whereSeparator: \.isNewline).map(String.init).filter { !$0.hasPrefix("#") }
        }
        return try texts(document).map { name, value in value.isEmpty ? "\(name);" : "\(name): \(value)" }
    }

    /// The members of a JSON object of texts.
    static func texts(_ document: Data) throws(CommandFailure) -> [(name: String, value: String)] {
        let members = (try? JSONValue(parsing: Array(document)))?.members
        let texts = members?.compactMap { member in member.value.string.map { (member.name, $0) } } ?? []
        if texts.count == members?.count { return texts }
        throw CommandFailure(.badInput, "The file is no JSON object of texts.")
    }
}
#endif
