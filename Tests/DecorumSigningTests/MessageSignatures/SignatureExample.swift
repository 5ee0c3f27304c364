#if Signing
import Crypto
import CryptoExtras
import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import DecorumSigning

/// An example of RFC 9421: a message, what is covered, the text that is signed, and perhaps a signature.
struct SignatureExample: Decodable, Sendable, CustomTestStringConvertible {
    let section: String
    let request: [String]
    let response: [String]?
    let trailers: [String]?
    let types: [String: String]?
    let input: String
    let base: [String]
    let key: String?
    let signature: String?
    let isValid: Bool?

    static let all = Result { try Fixtures.rows("signing/message-signatures.json", of: SignatureExample.self) }
    static let signed = (try? all.get().filter { $0.key != nil }) ?? []

    var testDescription: String { section }

    /// The label, the components and the parameters.
    var member: (label: String, components: [SignatureComponent], parameters: StructuredParameters) {
        get throws {
            let text = input.hasPrefix("(") ? "sig1=" + input : input
            let (label, member) = try #require(try StructuredDictionary(parsing: text).first)
            let items = try #require(member.innerList)
            return (label, items.map(SignatureComponent.init), member.parameters)
        }
    }

    var message: SignedMessage {
        get throws {
            SignedMessage(
                request: try requestHead, response: try responseHead, trailers: trailers.map(Self.fields))
        }
    }

    var requestHead: HTTPRequest {
        get throws {
            let line = try #require(request.first).split(separator: " ")
            let parts = try #require(String(line[1]).wholeMatch(of: /(https?):\/\/([^\/*]+)(.*)/))
            return HTTPRequest(
                method: try #require(.init(String(line[0]))), scheme: String(parts.1), authority: String(parts.2),
                path: String(parts.3), headerFields: Self.fields(Array(request.dropFirst())))
        }
    }

    var responseHead: HTTPResponse? {
        get throws {
            guard let response else { return nil }
            return HTTPResponse(
                status: .init(code: try #require(Int(response[0]))),
                headerFields: Self.fields(Array(response.dropFirst())))
        }
    }

    private static func fields(_ lines: [String]) -> HTTPFields {
        HTTPFields(
            lines.compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                return HTTPField.Name(String(parts[0])).map {
                    HTTPField(name: $0, lenientValue: Array(parts[1].dropFirst().utf8))
                }
            })
    }
}

/// A key of RFC 9421, appendix B.1.
struct ExampleKey: Decodable, Sendable {
    let name: String
    let algorithm: String
    let `private`: [String]
    let `public`: [String]

    static func named(_ name: String) throws -> ExampleKey {
        try #require(try Fixtures.rows("signing/message-keys.json", of: ExampleKey.self).first { $0.name == name })
    }

    var signing: SigningKey {
        get throws {
            switch try #require(SignatureAlgorithm(rawValue: algorithm)) {
            case .hmacSHA256: .hmac(SymmetricKey(data: try secret))
            case .ed25519: .ed25519(try .init(rawRepresentation: try der.suffix(32)))
            case .ecdsaP256: .p256(try .init(pemRepresentation: text(`private`)))
            case .ecdsaP384: throw CocoaError(.featureUnsupported)
            // The key of PKCS #1 stands behind 24 bytes with the identifier of RSASSA-PSS, which swift-crypto does not read.
            case .rsaPSS: try .rsaPSS(try .init(derRepresentation: try der.dropFirst(24)))
            case .rsaV15: try .rsaV15(try .init(pemRepresentation: text(`private`)))
            }
        }
    }

    var verifying: VerifyingKey {
        get throws {
            switch try #require(SignatureAlgorithm(rawValue: algorithm)) {
            case .hmacSHA256: .hmac(SymmetricKey(data: try secret))
            case .ed25519:
                .ed25519(try .init(rawRepresentation: try #require(Data(base64Encoded: body(`public`))).suffix(32)))
            case .ecdsaP256: .p256(try .init(pemRepresentation: text(`public`)))
            case .ecdsaP384: throw CocoaError(.featureUnsupported)
            case .rsaPSS: .rsaPSS(try .init(pemRepresentation: text(`public`)))
            case .rsaV15: .rsaV15(try .init(pemRepresentation: text(`public`)))
            }
        }
    }

    private var secret: Data { get throws { try #require(Data(base64Encoded: `private`.joined())) } }
    private var der: Data { get throws { try #require(Data(base64Encoded: body(`private`))) } }
    private func body(_ lines: [String]) -> String { lines.dropFirst().dropLast().joined() }
    private func text(_ lines: [String]) -> String { lines.joined(separator: "\n") }
}

extension HTTPField.Name {
    static func spelled(_ text: String) -> HTTPField.Name { HTTPField.Name(text) ?? .accept }
}
#endif
