#if Signing
import Decorum
import Foundation

extension MachineCredentials {
    /// Reads the files, and returns the credentials of the profile; nil if nobody has named it and it has none.
    func ofProfile(_ given: String?) async throws -> AWSCredentials? {
        let named = given ?? self["AWS_PROFILE"]
        let name = named ?? "default"
        let folder = (self["HOME"] ?? self["USERPROFILE"]).map { $0 + "/.aws/" }
        var profile = AWSProfile(name: name)
        if let path = self["AWS_CONFIG_FILE"] ?? folder.map({ $0 + "config" }) {
            try profile.read(path, isConfig: true)
        }
        if let path = self["AWS_SHARED_CREDENTIALS_FILE"] ?? folder.map({ $0 + "credentials" }) {
            try profile.read(path, isConfig: false)
        }
        if let added = try profile.webIdentity() {
            let environment = variables.merging(added) { $1 }
            return try await MachineCredentials(
                .webIdentity, over: AnyConnection(connection), environment: environment, clock: clock
            ).credentials()
        }
        if let keys = try profile.keys() { return keys }
        if let process = profile.settings["credential_process"] {
            guard let words = process.value.commandWords, !words.isEmpty else {
                throw profile.mistake(
                    "The credential_process in \(process.place) is empty or has an open quotation mark. Close it.")
            }
            let source = "the credential_process of the AWS profile \(name.quoted)"
            let output = try await CredentialProcess.output(of: words, environment: variables, clock: clock)
            return try CredentialAnswer(output).credentials(from: source, version: "1")
        }
        if let key = profile.settings.keys.filter({ $0.hasPrefix("sso_") }).min() {
            throw profile.refused("uses single sign-on", key: key)
        }
        guard named != nil else { return nil }
        throw profile.mistake(
            "The AWS profile \(name.quoted) does not exist or has no credentials. Give it keys or a credential_process."
        )
    }
}

extension String {
    /// The content of a file in UTF-8; nil if it cannot be read, or is larger.
    init?(limitedContentOf path: String, upTo limit: Int) {
        guard let file = FileHandle(forReadingAtPath: path),
            let content = try? file.read(upToCount: limit + 1) ?? Data(),
            content.count <= limit
        else { return nil }
        self.init(validating: content, as: UTF8.self)
    }

    /// A name for a sentence: its printable characters, at most 64 of them.
    var quoted: String { "“\(String(unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }).prefix(64))”" }
}

/// A profile of the files of AWS, and the ways to its credentials from its settings alone.
struct AWSProfile: Sendable {
    let name: String
    /// The settings, and where they stand.
    private(set) var settings: [String: (value: String, place: String)] = [:]

    init(name: String) { self.name = name }

    /// Reads a file, whose settings go before the ones of earlier files.
    mutating func read(_ path: String, isConfig: Bool) throws(SigningError) {
        guard FileManager.default.fileExists(atPath: path) else { return }
        guard let text = String(limitedContentOf: path, upTo: 1 << 20) else {
            throw mistake("The file \(path) cannot be read, has more than 1 MiB, or is not in UTF-8. Replace it.")
        }
        try read(text, path: path, isConfig: isConfig)
    }

    /// Reads the text of a file.
    ///
    /// - Throws: ``SigningError`` with the line of a mistake.
    mutating func read(_ text: String, path: String, isConfig: Bool) throws(SigningError) {
        /// The name of the section's profile, which another section has not.
        var section: String?
        var hasSection = false
        var indentation: Int?
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let place = "line \(index + 1) of \(path)"
            let start = line.firstIndex { !$0.isWhitespace }
            guard let start, line[start] != "#", line[start] != ";" else { continue }
            // A line that is further in belongs to the setting before it, as in `s3 =`, and those have no keys.
            let column = line[..<start].utf8.count
            if let indentation, column > indentation { continue }
            if line[start] == "[" {
                guard let end = line.firstIndex(of: "]") else {
                    throw mistake("A section in \(place) has no `]`. Correct the line.")
                }
                section = Self.profile(of: line[start..<end].dropFirst(), isConfig: isConfig)
                (hasSection, indentation) = (true, nil)
                continue
            }
            indentation = column
            guard hasSection, let mark = line.firstIndex(of: "=") else {
                let problem = hasSection ? "There is no `=`" : "There is no section before a setting"
                throw mistake("\(problem) in \(place). Correct the line.")
            }
            guard section == name else { continue }
            let key = line[..<mark].trimmingCharacters(in: .whitespaces).lowercased()
            var value = line[mark...].dropFirst()
            let comment = value.range(of: "[ \t][#;]", options: .regularExpression)
            if let comment, key != "credential_process" { value = value[..<comment.lowerBound] }
            settings[key] = (value.trimmingCharacters(in: .whitespaces), place)
        }
    }

    /// The name of the profile that a section has; nil for another section.
    private static func profile(of section: Substring, isConfig: Bool) -> String? {
        let name = section.trimmingCharacters(in: .whitespaces)
        guard isConfig, name != "default" else { return name }
        guard name.hasPrefix("profile"), name.dropFirst(7).first?.isWhitespace == true else { return nil }
        return name.dropFirst(7).trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'"))
    }

    /// The variables that ask the token service for the role of the profile; nil without a role.
    func webIdentity() throws(SigningError) -> [String: String]? {
        guard let role = settings["role_arn"]?.value else { return nil }
        guard let file = settings["web_identity_token_file"]?.value else {
            let cause = ["source_profile", "credential_source"].first { settings[$0] != nil } ?? "role_arn"
            throw refused("assumes a role with other credentials", key: cause)
        }
        var variables = ["AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": file]
        variables["AWS_ROLE_SESSION_NAME"] = settings["role_session_name"]?.value ?? ""
        variables["AWS_REGION"] = settings["region"]?.value
        return variables
    }

    /// The keys; nil if the profile has none.
    func keys() throws(SigningError) -> AWSCredentials? {
        let names = ["aws_access_key_id", "aws_secret_access_key"]
        guard let present = names.first(where: { settings[$0] != nil }) else { return nil }
        guard let id = settings[names[0]], let secret = settings[names[1]] else {
            throw mistake(
                "The AWS profile \(name.quoted) has \(present) in \(settings[present]?.place ?? ""), and not the other key. "
                    + "Add it.")
        }
        for (key, setting) in settings.filter({ $0.key.hasPrefix("aws_") }).sorted(by: { $0.key < $1.key })
        where setting.value.isEmpty || setting.value.contains(where: { $0.isWhitespace || !$0.isASCII }) {
            throw mistake(
                "The value of \(key) in \(setting.place) is empty or has characters that no key has. Correct it.")
        }
        var credentials = try AWSCredentials(
            accessKeyID: id.value, secretAccessKey: secret.value, sessionToken: settings["aws_session_token"]?.value)
        credentials.isFromFile = true
        return credentials
    }

    func refused(_ reason: String, key: String) -> SigningError {
        mistake(
            "The AWS profile \(name.quoted) \(reason) (\(key) in \(settings[key]?.place ?? "its files")), which is not "
                + "supported. Have a credential_process run `aws configure export-credentials`.")
    }

    func mistake(_ text: String) -> SigningError { SigningError(.noCredentials, text) }
}
#endif
