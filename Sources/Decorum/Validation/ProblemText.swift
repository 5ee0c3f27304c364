import Foundation

/// The problem with a request, as a server describes it.
struct ProblemText: Equatable {
    /// The words of the server, for a person; nil where there are none.
    let words: String?
    /// The server's name for the kind of problem, such as `invalid_grant`; nil where there is none.
    let code: String?

    static let absent = ProblemText(words: nil, code: nil)

    // A problem is short; more content is not searched.
    static let limit = 64 << 10

    /// Finds the problem in JSON, which is absent too where the JSON is not complete.
    static func find(in content: Data) -> ProblemText {
        guard content.count <= limit, let problem = try? JSONDecoder().decode(Problem.self, from: content) else {
            return .absent
        }
        let words = problem.words.map(Redaction.shownWords)
        return ProblemText(words: words?.isEmpty == true ? nil : words, code: problem.name.flatMap(code))
    }

    /// A code is shown in descriptions, so a text with anything but the characters of a name is none.
    private static func code(_ text: String) -> String? {
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: false
            }
        }
        guard isName, text.first?.isLetter == true, text.utf8.count <= 40,
            // An authorization code has the same name.
            Redaction.standard.applied(toText: text) == text, !OpaqueText.isOpaque(Array(text.utf8)[...])
        else { return nil }
        return text
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

    enum CodingKeys: String, CodingKey {
        case title, detail, message, error, code
        case errorDescription = "error_description"
    }

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
