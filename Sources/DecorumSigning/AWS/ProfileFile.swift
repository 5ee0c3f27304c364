#if Signing
public import Decorum
public import Foundation

/// The credentials of a profile in the files `~/.aws/config` and `~/.aws/credentials`.
///
/// A profile may have keys, a `credential_process`, or `role_arn` with `web_identity_token_file`. A profile of single sign-on
/// (`sso_…`), and one that assumes a role with the keys of another (`source_profile`, `credential_source`), is refused by
/// name: have a `credential_process` run `aws configure export-credentials` for it.
///
/// The program of a `credential_process` runs without a shell, for at most a minute, and writes at most 64 KiB; what it writes
/// is in no log and no error. iOS and its relatives cannot start it.
///
/// `AWS_PROFILE` names the profile where the app does not, and `AWS_CONFIG_FILE` and `AWS_SHARED_CREDENTIALS_FILE` the files.
public struct ProfileCredentials: AWSCredentialSource {
    private let name: String
    /// Whether somebody has named the profile, so that it must exist.
    private let isNamed: Bool
    private let config: String?
    private let shared: String?
    private let environment: AWSEnvironment
    private let connection: any Connection
    private let clock: any DatedClock

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - profile: The name of the profile; nil for `AWS_PROFILE`, or else `default`.
    ///   - connection: Sends to the token service, as in ``AWSCredentialChain/standard(over:environment:clock:spawner:)``.
    ///   - environment: The variables, which a `credential_process` gets too; by default the ones of the process.
    ///   - clock: The clock of the time limits.
    public init(
        _ profile: String? = nil, over connection: some Connection,
        environment: [String: String] = ProcessInfo.processInfo.environment, clock: any DatedClock = SystemClock()
    ) {
        let variables = AWSEnvironment(environment)
        let named = profile ?? variables["AWS_PROFILE"]
        name = named ?? "default"
        isNamed = named != nil
        let folder = (variables["HOME"] ?? variables["USERPROFILE"]).map { $0 + "/.aws/" }
        config = variables["AWS_CONFIG_FILE"] ?? folder.map { $0 + "config" }
        shared = variables["AWS_SHARED_CREDENTIALS_FILE"] ?? folder.map { $0 + "credentials" }
        self.environment = variables
        self.connection = connection
        self.clock = clock
    }

    /// Reads the files, and returns the credentials of the profile; nil if nobody has named it and it has none.
    ///
    /// - Throws: ``SigningError`` for a mistake in the files, with its line and key and never a value, ``AWSCredentialError``
    ///   for a program or a server that fails, and the errors of the connection.
    public func credentials() async throws -> AWSCredentials? {
        let profile = try profile()
        guard let profile else {
            guard isNamed else { return nil }
            throw SigningError(
                .noCredentials,
                "No AWS profile has the name \(name.quoted). Look into ~/.aws/config, or set AWS_PROFILE.")
        }
        switch try profile.origin() {
        case .keys(let credentials): return credentials
        case .process(let words):
            let output = try await CredentialProcess(words: words, environment: environment.all, clock: clock).output()
            return try CredentialDocument(
                output, from: "The credential_process of the profile \(name.quoted)", isProcess: true
            )
            .credentials
        case .webIdentity(let variables):
            return try await RemoteCredentials(
                .webIdentity, over: AnyConnection(connection), environment: environment.all.merging(variables) { $1 },
                clock: clock
            ).credentials()
        case .none:
            guard isNamed else { return nil }
            throw SigningError(
                .noCredentials,
                "The AWS profile \(name.quoted) has no credentials. Give it keys or a credential_process.")
        }
    }

    /// The profile of both files, in which the file of credentials goes before the other.
    private func profile() throws(SigningError) -> AWSProfile? {
        var profile: AWSProfile?
        for (path, isConfig) in [(config, true), (shared, false)] {
            guard let path, let text = try Self.read(path) else { continue }
            let found = try ProfileFile(text, path: path, isConfig: isConfig).profiles[name]
            guard let found else { continue }
            profile = AWSProfile(name: name, settings: (profile?.settings ?? [:]).merging(found) { $1 })
        }
        return profile
    }

    private static func read(_ path: String) throws(SigningError) -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let text = String(limitedContentOf: path, upTo: 1 << 20) else {
            throw SigningError(
                .noCredentials, "The file \(path) cannot be read, has more than 1 MiB, or is not in UTF-8. Replace it.")
        }
        return text
    }
}

extension ProfileCredentials: SecretHolder {
    /// The name of the profile.
    public var description: String { "the AWS profile \(name.quoted)" }
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

/// The profiles of a file.
struct ProfileFile: Sendable {
    /// A setting, and where it stands.
    struct Setting: Sendable, SecretHolder {
        let value: String
        let place: String

        var description: String { "a setting in \(place)" }
    }

    private(set) var profiles: [String: [String: Setting]] = [:]

    /// Reads a file.
    ///
    /// - Throws: ``SigningError`` with the line of a mistake.
    init(_ text: String, path: String, isConfig: Bool) throws(SigningError) {
        var profile: String?
        var hasSection = false
        var indentation: Int?
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            let place = "line \(number) of \(path)"
            let start = line.firstIndex { !$0.isWhitespace }
            guard let start, line[start] != "#", line[start] != ";" else { continue }
            // A line that is further in belongs to the setting before it, as in `s3 =`, and those have no keys.
            let column = line[..<start].utf8.count
            if let indentation, column > indentation { continue }
            if line[start] == "[" {
                guard let end = line.firstIndex(of: "]") else {
                    throw SigningError(.noCredentials, "A section in \(place) has no `]`. Correct the line.")
                }
                profile = Self.profile(of: line[start..<end].dropFirst(), isConfig: isConfig)
                (hasSection, indentation) = (true, nil)
                if let profile { profiles[profile, default: [:]].merge([:]) { $1 } }
                continue
            }
            indentation = column
            guard hasSection, let mark = line.firstIndex(of: "=") else {
                throw SigningError(
                    .noCredentials,
                    "\(hasSection ? "There is no `=`" : "There is no section before a setting") in \(place). Correct the line."
                )
            }
            guard let profile else { continue }
            let key = line[..<mark].trimmingCharacters(in: .whitespaces).lowercased()
            let value = Self.withoutComment(line[mark...].dropFirst(), of: key).trimmingCharacters(in: .whitespaces)
            profiles[profile, default: [:]][key] = Setting(value: value, place: place)
        }
    }

    /// The name of the profile that a section has; nil for another section.
    private static func profile(of section: Substring, isConfig: Bool) -> String? {
        let name = section.trimmingCharacters(in: .whitespaces)
        guard isConfig, name != "default" else { return name }
        guard name.hasPrefix("profile"), name.dropFirst(7).first?.isWhitespace == true else { return nil }
        return name.dropFirst(7).trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'"))
    }

    private static func withoutComment(_ value: Substring, of key: String) -> Substring {
        guard key != "credential_process" else { return value }
        var previous: Character = "="
        let end = value.firstIndex { character in
            defer { previous = character }
            return (character == "#" || character == ";") && previous.isWhitespace
        }
        return value[..<(end ?? value.endIndex)]
    }
}

/// A profile, and the way to its credentials.
struct AWSProfile: Sendable {
    enum Origin: Sendable {
        case keys(AWSCredentials)
        case process([String])
        /// The variables that ask the token service.
        case webIdentity([String: String])
        case none
    }

    let name: String
    let settings: [String: ProfileFile.Setting]

    /// The way to the credentials, from the settings alone.
    func origin() throws(SigningError) -> Origin {
        if let role = settings["role_arn"] {
            guard let file = settings["web_identity_token_file"] else {
                let cause = ["source_profile", "credential_source"].first { settings[$0] != nil } ?? "role_arn"
                throw refused("assumes a role with other credentials", key: cause)
            }
            var variables = ["AWS_ROLE_ARN": role.value, "AWS_WEB_IDENTITY_TOKEN_FILE": file.value]
            variables["AWS_ROLE_SESSION_NAME"] = settings["role_session_name"]?.value ?? ""
            variables["AWS_REGION"] = settings["region"]?.value
            return .webIdentity(variables)
        }
        if let keys = try keys() { return .keys(keys) }
        if let process = settings["credential_process"] {
            guard let words = CommandWords.split(process.value), !words.isEmpty else {
                throw SigningError(
                    .noCredentials,
                    "The credential_process in \(process.place) is empty or has an open quotation mark. Close it.")
            }
            return .process(words)
        }
        if let key = settings.keys.filter({ $0.hasPrefix("sso_") }).min() {
            throw refused("uses single sign-on", key: key)
        }
        return .none
    }

    private func keys() throws(SigningError) -> AWSCredentials? {
        let names = ["aws_access_key_id", "aws_secret_access_key"]
        let present = names.filter { settings[$0] != nil }
        guard let first = present.first.flatMap({ settings[$0] }) else { return nil }
        guard let id = settings[names[0]], let secret = settings[names[1]] else {
            throw SigningError(
                .noCredentials,
                "The AWS profile \(name.quoted) has \(present[0]) in \(first.place), and not the other key. Add it.")
        }
        for (key, setting) in settings.filter({ $0.key.hasPrefix("aws_") }).sorted(by: { $0.key < $1.key })
        where setting.value.isEmpty || setting.value.contains(where: { $0.isWhitespace || !$0.isASCII }) {
            throw SigningError(
                .noCredentials,
                "The value of \(key) in \(setting.place) is empty or has characters that no key has. Correct it.")
        }
        var credentials = try AWSCredentials(
            accessKeyID: id.value, secretAccessKey: secret.value, sessionToken: settings["aws_session_token"]?.value)
        credentials.isFromFile = true
        return credentials
    }

    private func refused(_ reason: String, key: String) -> SigningError {
        SigningError(
            .noCredentials,
            "The AWS profile \(name.quoted) \(reason) (\(key) in \(settings[key]?.place ?? "its files")), which is not "
                + "supported. Have a credential_process run `aws configure export-credentials`.")
    }
}

/// The words of a command, as the shell would split them, without expanding anything.
enum CommandWords {
    /// Splits a line at blanks outside of quotation marks; a backslash keeps the character behind it, except within single
    /// marks.
    ///
    /// - Returns: The words; nil for an open quotation mark, and for a backslash at the end.
    static func split(_ line: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var mark: Character?
        var isEscaped = false
        for character in line {
            if isEscaped {
                // Between double marks, a backslash stands for itself before all but these two.
                if mark != nil, character != "\"", character != "\\" { word?.append("\\") }
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", mark != "'" {
                isEscaped = true
            } else if character == mark {
                mark = nil
            } else if mark == nil, character == "\"" || character == "'" {
                mark = character
                word = word ?? ""
            } else if mark == nil, character.isWhitespace {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard mark == nil, !isEscaped else { return nil }
        if let word { words.append(word) }
        return words
    }
}
#endif
