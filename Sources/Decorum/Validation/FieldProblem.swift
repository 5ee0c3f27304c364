import Foundation

extension StatusError {
    /// One part of a request that a server finds wrong, such as a field of a form.
    public struct FieldProblem: Sendable, Hashable {
        /// The name or the path of the part, such as `title`, `Issue.title` or `#/items/0/price`; nil where the server names
        /// none, or a text that is no name.
        public let name: String?
        /// The server's name for the problem, such as `missing_field`; nil where there is none.
        public let code: String?
        /// The words of the server about the part, cut to 200 characters; nil where there are none.
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
