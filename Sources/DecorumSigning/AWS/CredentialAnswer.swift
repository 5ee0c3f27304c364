#if Signing
import Decorum
import Foundation
import HTTPTypes

/// The answer of a service or a program: JSON of metadata, XML of the token service, or a word.
struct CredentialAnswer: Sendable {
    let status: HTTPResponse.Status
    private let data: Data

    init(_ data: Data, status: HTTPResponse.Status = .ok) { (self.data, self.status) = (data, status) }

    /// The first line, which is a token or the name of a role, and no page of HTML.
    func word(from source: String) throws(AWSCredentialError) -> String {
        try checkStatus(from: source)
        let line = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).first
        guard let line, line.utf8.count <= 4096,
            line.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "<") })
        else { throw unusable(source) }
        return String(line)
    }

    /// The credentials; with `version`, the answer must say it.
    ///
    /// - Throws: ``AWSCredentialError`` for anything else, such as a page of HTML; it quotes nothing.
    func credentials(from source: String, version: String? = nil) throws(AWSCredentialError) -> AWSCredentials {
        try checkStatus(from: source)
        let members = members
        let expiry = members["Expiration"].flatMap(Self.date)
        guard let id = members["AccessKeyId"], let secret = members["SecretAccessKey"],
            version == nil || members["Version"] == version, members["Code"] ?? "Success" == "Success",
            // A date that cannot be read must not stand for credentials without an end.
            expiry != nil || members["Expiration"] == nil,
            let credentials = try? AWSCredentials(
                accessKeyID: id, secretAccessKey: secret, sessionToken: members["Token"] ?? members["SessionToken"],
                expiry: expiry)
        else { throw unusable(source) }
        return credentials
    }

    private func checkStatus(from source: String) throws(AWSCredentialError) {
        guard status != .ok else { return }
        throw AWSCredentialError(
            "The status \(status.code)\(errorCode) came from \(source). Look at the role and its permissions.",
            mayPass: status.code == 429 || status.code >= 500)
    }

    private func unusable(_ source: String) -> AWSCredentialError {
        AWSCredentialError(
            "No usable credentials came from \(source)\(errorCode). Look at whether another one answers in its place.")
    }

    /// The code of an error of AWS in parentheses, such as `ExpiredTokenException`, which is a word of letters and digits.
    private var errorCode: String {
        let code = members["Code"]?.wholeMatch(of: /[A-Za-z0-9.]{1,64}/)?.output ?? "Success"
        return code == "Success" ? "" : " (\(code))"
    }

    /// The texts and numbers of a JSON object, or the texts of the elements that count.
    private var members: [String: String] {
        if let object = try? JSONSerialization.jsonObject(with: data) {
            return (object as? [String: Any])?.compactMapValues { $0 as? String ?? ($0 as? Int).map(String.init) }
                ?? [:]
        }
        let text = String(decoding: data, as: UTF8.self)[...]
        let names = ["AccessKeyId", "Code", "Expiration", "SecretAccessKey", "SessionToken"]
        guard let part = Self.element("Credentials", in: text) ?? Self.element("Error", in: text) else { return [:] }
        let pairs = names.compactMap { name in Self.element(name, in: part).map { (name, String($0)) } }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    /// The text of an element of the token service, which has no entities.
    private static func element(_ name: String, in text: Substring) -> Substring? {
        guard let start = text.range(of: "<\(name)>"), let end = text[start.upperBound...].range(of: "</\(name)>")
        else { return nil }
        return text[start.upperBound..<end.lowerBound]
    }

    private static func date(_ text: String) -> Date? {
        let whole = try? Date.ISO8601FormatStyle().parse(text)
        return whole ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
    }
}
#endif
