import Foundation

/// The problem with a request, as a server describes it.
struct ProblemText: Equatable {
    /// The words of the server, for a person; nil where there are none.
    let words: String?
    /// The server's name for the kind of problem, such as `invalid_grant`; nil where there is none.
    let code: String?
    /// The parts of the request that the server finds wrong.
    var fields: [StatusError.FieldProblem] = []

    static let absent = ProblemText(words: nil, code: nil)

    // A problem is short; more content is not searched.
    static let limit = 64 << 10

    /// Finds the problem in JSON, which is absent too where the JSON is not complete.
    static func find(in content: Data) -> ProblemText {
        guard content.count <= limit, let problem = try? JSONDecoder().decode(Problem.self, from: content) else {
            return .absent
        }
        return ProblemText(words: shown(problem.words), code: problem.name.flatMap(code), fields: problem.fields)
    }

    /// Words of a server without secrets; nil where none are left.
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
