import DecorumTestSupport
import Foundation
import Testing

/// A case of a test suite for HTTP caches: a sequence of exchanges, and their expectations.
struct CacheCase: Decodable, Sendable, CustomTestStringConvertible {
    enum Kind: String, Decodable, Sendable { case required, optimal, check }

    let id: String
    let name: String
    let kind: Kind
    /// Where the rule stands; nil in suites that do not tell.
    let section: String?
    let dependsOn: [String]
    let ownClient: Bool
    let requests: [Exchange]

    var testDescription: String { id }

    struct Exchange: Decodable, Sendable {
        let requestMethod: String?
        let requestHeaders: [Field]?
        let requestBody: String?
        let queryArg: String?
        let filename: String?
        let magicIms: Bool?
        let pauseAfter: Bool?
        let responseStatus: Status?
        let responseHeaders: [Field]?
        let responseBody: String?
        let responsePause: Int?
        let rfc850date: [String]?
        let magicLocations: Bool?
        let disconnect: Bool?
        let setup: Bool?
        let setupTests: [String]?
        let expectedType: String?
        let expectedStatus: Maybe<Int>?
        let expectedResponseHeaders: [Field]?
        let expectedResponseHeadersMissing: [Field]?
        let expectedResponseText: Maybe<String>?
        let checkBody: Bool?
        let expectedRequestHeaders: [Field]?
        let expectedRequestHeadersMissing: [Field]?
        let expectedMethod: String?

        var method: String { requestMethod ?? "GET" }
    }

    /// A value that may be explicitly `null`, which differs from a missing value.
    enum Maybe<Value: Decodable & Sendable>: Decodable, Sendable {
        case some(Value)
        case any

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self = container.decodeNil() ? .any : .some(try container.decode(Value.self))
        }
    }

    struct Status: Decodable, Sendable {
        let code: Int
        let reason: String

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            code = try list.decode(Int.self)
            reason = try list.decode(String.self)
        }
    }

    /// A name alone, a name with a value, or a name with a relation and a value.
    struct Field: Decodable, Sendable {
        let name: String
        let parts: [Scalar]

        init(from decoder: any Decoder) throws {
            if let name = try? decoder.singleValueContainer().decode(String.self) {
                self.name = name
                parts = []
                return
            }
            var list = try decoder.unkeyedContainer()
            name = try list.decode(String.self)
            var parts: [Scalar] = []
            while !list.isAtEnd { parts.append(try list.decode(Scalar.self)) }
            self.parts = parts
        }

        var value: Scalar? { parts.first }
        var isCompared: Bool {
            if case .flag(false)? = parts.dropFirst().first { return false }
            return true
        }
    }

    enum Scalar: Decodable, Sendable {
        case text(String)
        case number(Int)
        case flag(Bool)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Int.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }

        var text: String {
            switch self {
            case .text(let text): text
            case .number(let number): String(number)
            case .flag(let flag): String(flag)
            }
        }
    }
}

/// A file with cases.
enum CacheCaseFile: CaseIterable, Sendable {
    /// The project's own cases.
    case own
    /// The public test suite for HTTP caches, which is beside the checkout of some developers.
    case shared

    /// The files that are there; the project's own always is.
    static let present = allCases.filter { $0.url != nil }

    var url: URL? {
        switch self {
        case .own: Fixtures.url("caching/cases.json")
        case .shared: Fixtures.shared("cache-tests/cases.json")
        }
    }

    func cases() throws -> [CacheCase] {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode([CacheCase].self, from: Data(contentsOf: #require(url)))
    }
}

extension KeyedDecodingContainer {
    /// Distinguishes a value that is `null` from a missing one.
    func decodeIfPresent<Value>(
        _ type: CacheCase.Maybe<Value>.Type, forKey key: Key
    ) throws -> CacheCase.Maybe<Value>? {
        contains(key) ? try decode(type, forKey: key) : nil
    }
}
