import Foundation

/// The problem with a request, as a server describes it.
struct ProblemText: Equatable {
    /// The words of the server, for a person; nil if there are none.
    let words: String?
    /// The server's name for the kind of problem, such as `invalid_grant`; nil if there is none.
    let code: String?
    /// The parts of the request that the server finds wrong.
    var fields: [StatusError.FieldProblem] = []

    static let absent = ProblemText(words: nil, code: nil)

    // A problem is short; more content is not searched.
    static let limit = 64 << 10

    /// Finds the problem in JSON, which is absent too if the JSON is not complete.
    static func find(in content: Data) -> ProblemText {
        guard content.count <= limit, let problem = try? JSONDecoder().decode(Problem.self, from: content) else {
            return .absent
        }
        return ProblemText(words: shown(problem.words), code: problem.name.flatMap(code), fields: problem.fields)
    }

    /// Words of a server without secrets; nil if none are left.
    static func shown(_ words: String?) -> String? {
        words.map(Redaction.shownLine).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A code is shown in descriptions, so a text with anything but the characters of a name is none.
    static func code(_ text: String) -> String? {
        guard text.utf8.count <= 40, text.first?.isLetter == true, isHarmless(text, marks: "_-.") else { return nil }
        return text
    }

    /// The path of a part of the request, which is shown too: a name, `items[0].name`, or a JSON pointer.
    static func path(_ text: String) -> String? {
        let isPath = (1...80).contains(text.utf8.count) && isHarmless(text, marks: "_-.[]/#$:")
        return isPath && text.contains(where: \.isLetter) ? text : nil
    }

    private static func isHarmless(_ text: String, marks: String) -> Bool {
        let hasOnlyNameCharacters = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: marks.utf8.contains(byte)
            }
        }
        // An authorization code has the same name as that of a problem.
        return hasOnlyNameCharacters && Redaction.standard.applied(toText: text) == text
            && !OpaqueText.isOpaque(Array(text.utf8)[...])
    }
}

/// A problem in the form of RFC 9457, of OAuth (RFC 6749, section 5.2), or of the many servers with a `message`.
private struct Problem: Decodable {
    let title: Text?
    let detail: Text?
    let message: Text?
    let error: Text?
    let errorDescription: Text?
    let code: Text?
    private let lists: [FieldProblems]

    private enum CodingKeys: String, CodingKey {
        case title, detail, message, error, code, errors
        case errorDescription = "error_description"
        case invalidParameters = "invalid-params"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let text = { (key: CodingKeys) in (try? container.decodeIfPresent(Text.self, forKey: key)) ?? nil }
        title = text(.title)
        detail = text(.detail)
        message = text(.message)
        error = text(.error)
        errorDescription = text(.errorDescription)
        code = text(.code)
        lists = [CodingKeys.errors, .invalidParameters, .detail].compactMap {
            try? container.decode(FieldProblems.self, forKey: $0)
        }
    }

    /// The parts of the request that are wrong, by the first member that names any.
    var fields: [StatusError.FieldProblem] { lists.first { !$0.problems.isEmpty }?.problems ?? [] }

    var words: String? {
        let parts = [title ?? error, detail ?? message ?? errorDescription].compactMap { $0?.value }
        return parts.isEmpty ? nil : parts.joined(separator: ": ")
    }

    var name: String? { code?.value ?? error?.code ?? error?.value }
}

/// A string, or an object with the string as its `message`; any other value counts as absent.
private struct Text: Decodable {
    private struct Object: Decodable {
        let message: String?
        let code: String?

        enum CodingKeys: CodingKey { case message, code }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            message = try? container.decode(String.self, forKey: .message)
            code = try? container.decode(String.self, forKey: .code)
        }
    }

    let value: String?
    let code: String?

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let object = try? container.decode(Object.self)
        value = (try? container.decode(String.self)) ?? object?.message
        code = object?.code
    }
}

extension StatusError {
    /// One part of a request that a server finds wrong, such as a field of a form.
    public struct FieldProblem: Sendable, Hashable {
        /// The name or the path of the part, such as `title`, `Issue.title` or `#/items/0/price`; nil if the server names none,
        /// or a text that is no name.
        public let name: String?
        /// The server's name for the problem, such as `missing_field`; nil if there is none.
        public let code: String?
        /// The words of the server about the part, cut to 200 characters; nil if there are none.
        ///
        /// The secrets that ``Redaction/standard`` knows are replaced. A server may quote a part of the request, so no
        /// description has them.
        public let words: String?
    }
}

extension StatusError.FieldProblem: CustomStringConvertible {
    /// The name and the code of the problem, without the words of the server.
    public var description: String { shown ?? code ?? "a part without a name" }
}

extension StatusError.FieldProblem {
    /// The name and the code, as a description may show them; nil without a name.
    var shown: String? { name.map { name in code.map { "\(name) (\($0))" } ?? name } }
}

/// The parts of a request that a server finds wrong, in the forms that are in use.
///
/// They are a list of objects in `errors`, as RFC 9457 (`pointer`, `detail`), JSON:API (`source`) and GitHub (`resource`,
/// `field`, `code`) have it; an object in `errors` with the texts of each field; `invalid-params` with `name` and `reason`
/// (RFC 7807); and a list in `detail` with `loc`, `msg` and `type`.
struct FieldProblems: Decodable, Equatable {
    // More of them help no reader.
    private static let limit = 20

    let problems: [StatusError.FieldProblem]

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let found: [StatusError.FieldProblem]
        if let entries = try? container.decode([Entry].self) {
            found = entries.prefix(Self.limit).map(\.problem)
        } else {
            let fields = (try? container.decode([String: Texts].self)) ?? [:]
            found = fields.sorted { $0.key < $1.key }.prefix(Self.limit).map { name, texts in
                .init(name: ProblemText.path(name), code: nil, words: ProblemText.shown(texts.joined))
            }
        }
        problems = found.filter { $0.name != nil || $0.words != nil }
    }

    /// The texts about one field: one, a list, or none that is known.
    private struct Texts: Decodable {
        let joined: String?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            joined =
                (try? container.decode(String.self))
                ?? (try? container.decode([String].self))?.joined(separator: " ")
        }
    }

    /// A problem in a list: an object, or only its words.
    private struct Entry: Decodable {
        private enum CodingKeys: String, CodingKey {
            case resource, field, name, path, param, pointer, source, loc
            case code, type
            case message, detail, reason, msg, description, title
        }

        let problem: StatusError.FieldProblem

        init(from decoder: any Decoder) throws {
            if let words = try? decoder.singleValueContainer().decode(String.self) {
                problem = .init(name: nil, code: nil, words: ProblemText.shown(words))
                return
            }
            guard let container = try? decoder.container(keyedBy: CodingKeys.self) else {
                problem = .init(name: nil, code: nil, words: nil)
                return
            }
            let text = { (keys: [CodingKeys]) in
                keys.lazy.compactMap { try? container.decode(String.self, forKey: $0) }.first
            }
            let location =
                (try? container.decode(Source.self, forKey: .source))?.place
                ?? (try? container.decode([Step].self, forKey: .loc))?.map(\.text).joined(separator: ".")
            let field = text([.field, .pointer, .name, .path, .param]) ?? location
            let name = [text([.resource]), field].compactMap { $0 }.joined(separator: ".")
            problem = .init(
                name: ProblemText.path(name), code: text([.code, .type]).flatMap(ProblemText.code),
                words: ProblemText.shown(text([.message, .detail, .reason, .msg, .description, .title])))
        }
    }

    /// The place of a problem in JSON:API.
    private struct Source: Decodable {
        let pointer: String?
        let parameter: String?

        var place: String? { pointer ?? parameter }
    }

    /// A step of a path: a name or an index.
    private struct Step: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            text = try (try? container.decode(Int.self)).map(String.init) ?? container.decode(String.self)
        }
    }
}
