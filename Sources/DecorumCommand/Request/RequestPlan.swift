#if CommandLine
import ArgumentParser
import Decorum
import DecorumEndpoints
import Foundation

/// A request as the arguments name it.
struct RequestPlan: Sendable {
    /// The form of content that items make.
    enum Form: String, EnumerableFlag {
        case json, form, multipart
    }

    private let method: String?
    let url: String
    private let items: [RequestItem]
    private let form: Form
    /// The content as a whole: a text, `@FILE`, or `-` for the standard input.
    private let body: String?
    private let fields: [String]

    /// Reads the words `[METHOD] URL [ITEM…]`.
    ///
    /// The first word is a method if it is in upper case, or a well-known method. A URL without a scheme gets `https`, or
    /// `http` for this machine: `:3000/x` is `http://localhost:3000/x`. One that starts with a slash is for a base URL.
    init(
        _ words: [String], method: String? = nil, form: Form? = nil, body: String? = nil, fields: [String] = []
    ) throws(CommandFailure) {
        var words = words[...]
        let isMethod = words.first?.wholeMatch(of: /[A-Z]+|get|head|post|put|patch|delete|options/) != nil
        self.method = method ?? (isMethod ? words.removeFirst().uppercased() : nil)
        guard let url = words.popFirst() else {
            throw CommandFailure(.usage, "There is no URL. Write `decorum https://example.com`, or see --help.")
        }
        self.url = Self.completed(url)
        items = try words.map(RequestItem.init)
        let hasFile = items.contains { $0.kind == .file }
        (self.form, self.body, self.fields) = (form ?? (hasFile ? .multipart : .json), body, fields)
        guard !hasFile || self.form == .multipart else {
            throw CommandFailure(.usage, "A file is a part of multipart forms alone. Use name=@FILE for its text.")
        }
        guard body == nil || content.isEmpty else {
            throw CommandFailure(.usage, "Content comes either from --body or from items such as name=text.")
        }
    }

    static func completed(_ url: String) -> String {
        if url.prefixMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*:\/\/|[\/?]/) != nil { return url }
        if url.hasPrefix(":") {
            return "http://localhost" + (url == ":" || url.hasPrefix(":/") ? url.dropFirst() : url[...])
        }
        let isHere = url.prefixMatch(of: /(?i)(?:localhost|127(?:\.[0-9]+){3}|\[::1\])(?:[:\/?#]|$)/) != nil
        return (isHere ? "http://" : "https://") + url
    }

    private var content: [RequestItem] { items.filter { [.text, .json, .file].contains($0.kind) } }

    /// Reads the files that the items name, and makes the request.
    func request() throws -> Request {
        let body = try makeBody()
        let text = method ?? (body == nil ? "GET" : "POST")
        guard let method = HTTPRequest.Method(text) else {
            throw CommandFailure(.usage, "“\(text.shortened)” is no method.")
        }
        var request: Request
        do { request = try Request(method, url, body: body ?? .empty) } catch {
            switch error.reason {
            case .userinfo: throw CommandFailure(.usage, "The URL has a name or a password. Use -u NAME:@FILE.")
            case .invalidURL: throw CommandFailure(.usage, "The URL cannot be read. A blank in it is %20.")
            default: throw error
            }
        }
        let query = try items.filter { $0.kind == .query }.map {
            "\(PercentCoding.encode($0.name))=\(PercentCoding.encode(try $0.read()))"
        }
        if let path = request.head.path, !query.isEmpty {
            let joint = !path.contains("?") ? "?" : path.hasSuffix("?") || path.hasSuffix("&") ? "" : "&"
            request.head.path = path + joint + query.joined(separator: "&")
        }
        // The options are like curl's -H, and items come later.
        let later = try items.filter { $0.kind == .field || $0.kind == .emptyField }.map {
            $0.name + $0.kind.rawValue + (try $0.read())
        }
        for line in fields + later {
            guard let match = line.wholeMatch(of: /([^:]*?)(?:;|:\s*(.*?)\s*)/),
                let name = HTTPField.Name(String(match.1)), HTTPField.isValidValue(String(match.2 ?? ""))
            else {
                // The text may be a secret.
                throw CommandFailure(.usage, "A field is not in order. Write Name: value, or Name; for an empty one.")
            }
            // A body has set its type already.
            if match.2 == "" || name == .contentType { request.head.headerFields[name] = nil }
            if match.2 != "" { request.head.headerFields.append(HTTPField(name: name, value: String(match.2 ?? ""))) }
        }
        return request
    }

    private func makeBody() throws -> Body? {
        if let body {
            if body == "-" || body.hasPrefix("@") { return try InputFile.body(String(body.trimmingPrefix("@"))) }
            let isJSON = (try? JSONValue(parsing: Array(body.utf8))) != nil
            return Body(Data(body.utf8)).typed(as: isJSON ? "application/json" : "text/plain; charset=utf-8")
        }
        guard !content.isEmpty else { return nil }
        switch form {
        case .json:
            let object = JSONValue.object(try content.map { .init($0.name, try $0.json()) })
            return Body(Data(object.document())).typed(as: "application/json")
        case .form: return Body(form: try content.map { (name: $0.name, value: try $0.read()) })
        case .multipart:
            var form = Multipart()
            for item in content {
                guard item.kind == .file else {
                    form.append(item.name, try item.read())
                    continue
                }
                let mark = item.value.range(of: ";type=", options: .backwards)
                let path = String(item.value[..<(mark?.lowerBound ?? item.value.endIndex)])
                let name = path == "-" ? "stdin" : URL(filePath: path).lastPathComponent
                let type = mark.map { String(item.value[$0.upperBound...]) }
                form.append(item.name, try InputFile.body(path), named: name, as: type)
            }
            return Body(multipart: form)
        }
    }
}

/// A part of a request as a word of the command line, in the notation of HTTPie and xh.
struct RequestItem: Sendable, Hashable {
    /// What an item is, with its separator; `Name:` alone is a field that is not sent, and `Name;` an empty one.
    enum Kind: String, Sendable {
        case field = ":"
        case emptyField = ";"
        case query = "=="
        case text = "="
        case json = ":="
        case file = "@"
    }

    let kind: Kind
    let name: String
    /// The value, or the path of the file that has it.
    let value: String
    let isPath: Bool

    /// Reads a word; a backslash takes the meaning of the separator behind it.
    init(_ word: String) throws(CommandFailure) {
        let form = /((?:\\[:=@;\\]|\\(?![:=@;\\])|[^\\])+?)(:=|==|=|:|(?=@)|;$)(@?)(.*)/.dotMatchesNewlines()
        guard let match = word.wholeMatch(of: form),
            let kind = Kind(rawValue: String(match.2.isEmpty ? match.3 : match.2))
        else {
            throw CommandFailure(
                .usage,
                "“\(word.shortened)” is no item. Write name=text, name:=json, name==query, Name:field or name@file.")
        }
        (self.kind, isPath) = (kind, !match.3.isEmpty)
        (name, value) = (String(match.1.replacing(/\\([:=@;\\])/) { $0.1 }), String(match.4))
    }

    func read() throws(CommandFailure) -> String { isPath ? try InputFile.text(value) : value }

    /// The value as a part of JSON.
    func json() throws(CommandFailure) -> JSONValue {
        let text = try read()
        guard kind == .json else { return .string(text) }
        do { return try JSONValue(parsing: Array(text.utf8)) } catch {
            throw CommandFailure(.usage, "The value of “\(name)” is no JSON. For a text, write \(name)=text.")
        }
    }
}
#endif
