/// Finds the secrets in a URL, a form, markup, a table or a text, by names and shapes.
///
/// In doubtful cases it finds a secret: a name counts after each `?`, `&`, `;`, `#` and `/`, and its value extends to the
/// end of the path segment or item.
package struct SecretSearch: Sendable {
    /// A secret that was found.
    package struct Found: Sendable {
        package enum Kind: Sendable {
            /// A value, with the bytes of its name.
            case value(name: Range<Int>)
            /// A user name with its password, a part of a path, or a token that was found by its shape.
            case userinfo, path, token
        }

        package let range: Range<Int>
        package let kind: Kind
    }

    package let bytes: [UInt8]
    /// The secrets found so far, in no order; one may lie within another.
    package internal(set) var found: [Found] = []
    /// The byte at which markup or a table is read.
    var position = 0
    let rules: SecretRules
    private let nesting: Int

    /// Creates a search, with the maximum depth of nested encodings, such as a URL in the query of another.
    package init(_ bytes: [UInt8], rules: SecretRules, nesting: Int = SecretRules.nestingLimit) {
        (self.bytes, self.rules, self.nesting) = (bytes, rules, nesting)
    }

    /// The bytes with a replacement for each secret, where secrets that overlap are replaced together; nil if no secret was
    /// found.
    package func replacing(_ replacement: (_ secret: Found) -> [UInt8]) -> [UInt8]? {
        var edits = TextEdits(bytes)
        for secret in found.sorted(by: { $0.range.lowerBound < $1.range.lowerBound })
        where secret.range.upperBound > edits.end {
            edits.replace(secret.range, with: replacement(secret))
        }
        return edits.result
    }

    /// Finds tokens by their shape, in any place.
    package mutating func findTokens() {
        guard rules.tokens else { return }
        found += TokenSearch.secrets(in: bytes).map { Found(range: $0, kind: .token) }
    }

    /// Finds the secrets of a form (`application/x-www-form-urlencoded`).
    package mutating func findInForm() {
        findItems(in: bytes.indices, separator: UInt8(ascii: "&"), names: rules.formNames)
    }

    /// Finds the secrets of a URL or a reference (RFC 3986) that consists of the bytes in a range, or of all.
    package mutating func findInURL(_ url: Range<Int>? = nil) {
        let url = url ?? bytes.indices
        let fragment = url.first { bytes[$0] == UInt8(ascii: "#") } ?? url.upperBound
        let query = url.first { bytes[$0] == UInt8(ascii: "?") || $0 == fragment } ?? url.upperBound

        if rules.userinfo { findUserinfo(in: url) }
        if rules.paths { found += SecretPath.all(in: bytes[url]).map { Found(range: $0, kind: .path) } }
        findItems(in: url.lowerBound..<query, separator: UInt8(ascii: "/"), names: rules.queryItems)
        findItems(in: query..<fragment, separator: UInt8(ascii: "&"), names: rules.queryItems)
        findItems(in: fragment..<url.upperBound, separator: UInt8(ascii: "&"), names: rules.queryItems)
    }

    /// Finds the secrets of the URLs in content in which only the secrets may change.
    ///
    /// A word counts as a URL only if it starts like a URL, since scripts in a page hold many question marks.
    package mutating func findInLinks() {
        for word in words(between: { Self.delimits($0) || "'`()\\".utf8.contains($0) }) {
            if word == bytes.indices || startsLink(word) {
                findInURL(word)
            } else if let equals = bytes[word].prefix(16).firstIndex(of: UInt8(ascii: "=")) {
                let value = equals + 1..<word.upperBound
                if startsLink(value) { findInURL(value) }
            }
        }
    }

    private func startsLink(_ word: Range<Int>) -> Bool {
        bytes[word].starts(with: "http".utf8) || bytes[word].first.map { "/?".utf8.contains($0) } ?? false
    }

    /// Finds the secrets of the URLs in a text that is shown to people, and of words that look like parts of URLs.
    package mutating func findInText() {
        // A text that starts with a URL may be one whose secret holds a delimiter.
        if let firstURL = bytes.indices.first(where: { isDoubleSlash(at: $0) }),
            firstURL < bytes.firstIndex(where: Self.delimits) ?? .max
        {
            return findInURL()
        }
        for word in words(between: Self.delimits)
        where bytes[word.lowerBound] == UInt8(ascii: "/")
            || word.contains(where: { "?#".utf8.contains(bytes[$0]) || isDoubleSlash(at: $0) })
        {
            findInURL(word)
        }
    }

    private func words(between delimits: (UInt8) -> Bool) -> [Range<Int>] {
        bytes.split(whereSeparator: delimits).map(\.indices)
    }

    /// Whether a byte is a blank, `<`, `>` or a quotation mark.
    private static func delimits(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == 0x3C || byte == 0x3E || byte == 0x22 }

    private func isDoubleSlash(at index: Int) -> Bool {
        bytes[index] == UInt8(ascii: "/") && index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: "/")
    }

    private mutating func findUserinfo(in url: Range<Int>) {
        guard let lastAt = url.last(where: { bytes[$0] == UInt8(ascii: "@") }) else { return }
        var index = url.lowerBound
        while index < lastAt {
            guard isDoubleSlash(at: index), index == url.lowerBound || bytes[index - 1] == UInt8(ascii: ":") else {
                index += 1
                continue
            }
            let start = index + 2
            let end = (start..<url.upperBound).first { "/?#\\".utf8.contains(bytes[$0]) } ?? url.upperBound
            if let at = (start..<end).last(where: { bytes[$0] == UInt8(ascii: "@") }) {
                if at > start { found.append(Found(range: start..<at, kind: .userinfo)) }
                index = end
            } else if lastAt > start, bytes[start] != UInt8(ascii: "["),
                let colon = bytes[start..<end].lastIndex(of: UInt8(ascii: ":")),
                !bytes[colon + 1..<end].allSatisfy(\.isDigit)
            {
                // There is no port: the password holds a slash that is not encoded, and the authority extends beyond it.
                return found.append(Found(range: start..<lastAt, kind: .userinfo))
            } else {
                index = max(end, start)
            }
        }
    }

    private mutating func findItems(in part: Range<Int>, separator: UInt8, names: SecretNameSet) {
        var start = part.lowerBound
        while start < part.upperBound {
            let end = bytes[start..<part.upperBound].firstIndex(of: separator) ?? part.upperBound
            findItem(start..<end, names: names)
            start = end + 1
        }
    }

    private mutating func findItem(_ item: Range<Int>, names: SecretNameSet) {
        var nameStart: Int? = item.lowerBound
        var firstValue: Int?
        for index in item {
            switch bytes[index] {
            case UInt8(ascii: "="):
                firstValue = firstValue ?? index + 1
                let value = index + 1..<item.upperBound
                if let start = nameStart,
                    names.isSecret(bytes[value], of: PercentEscapes.decode(bytes[start..<index])[...])
                {
                    return found.append(Found(range: value, kind: .value(name: start..<index)))
                }
                nameStart = nil
            case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: ";"), UInt8(ascii: "#"), UInt8(ascii: "/"):
                nameStart = index + 1
            default: break
            }
        }
        let value = (firstValue ?? item.lowerBound)..<item.upperBound
        guard holdsEncodedSecret(value) else { return }
        found.append(Found(range: value, kind: .value(name: item.lowerBound..<value.lowerBound)))
    }

    /// Whether a value is an encoded URL or JSON with a secret.
    private func holdsEncodedSecret(_ value: Range<Int>) -> Bool {
        let isEncoded = bytes[value].contains(UInt8(ascii: "%"))
        guard nesting > 0, isEncoded || bytes[value].contains(UInt8(ascii: "{")) else { return false }
        let decoded = PercentEscapes.decode(bytes[value])
        guard !JSONText.isLikely(decoded) else {
            return JSONSecrets.masked(decoded, rules: rules, nesting: nesting - 1).foundSecret
        }
        guard isEncoded else { return false }
        var inner = SecretSearch(decoded, rules: rules, nesting: nesting - 1)
        inner.findInURL()
        inner.findTokens()
        return !inner.found.isEmpty
    }
}

/// Lines with a name and its value, such as `DB_PASSWORD=…`, `token: …` and `api_key = "…"`.
extension SecretSearch {
    /// Finds the values of secret names in the lines of a text.
    ///
    /// Prose has colons too. So behind a colon within a line, or of several words, a value without quotes is secret only if
    /// it has a digit; a line of YAML or of a settings file has its name at its start, and one value behind it.
    package mutating func findAssignments() {
        guard !rules.jsonNames.isEmpty else { return }
        var index = 0
        while let separator = bytes[index...].firstIndex(where: { $0 == 0x3D || $0 == UInt8(ascii: ":") }) {
            index = separator + 1
            guard let name = assignedName(before: separator), let secrecy = rules.jsonNames.secrecy(of: bytes[name]),
                let value = assignedValue(behind: separator, startsLine: startsLine(name.lowerBound)),
                !isReference(value),
                secrecy == .any || value.count > 15 || !bytes[value].allSatisfy(\.isDigit)
            else { continue }
            found.append(Found(range: value, kind: .value(name: name)))
            index = max(index, value.upperBound)
        }
    }

    private func assignedName(before separator: Int) -> Range<Int>? {
        var end = separator
        while end > 0, separator - end < 4, " \t\"'".utf8.contains(bytes[end - 1]) { end -= 1 }
        var start = end
        while start > 0, end - start < 48, bytes[start - 1].isInWord { start -= 1 }
        return end - start > 2 ? start..<end : nil
    }

    /// Whether only blanks, a list mark or `export` stand before a name in its line.
    private func startsLine(_ name: Int) -> Bool {
        let line = bytes[..<name].suffix(40)
        let before = String(decoding: line.lastIndex(of: 0x0A).map { line[($0 + 1)...] } ?? line, as: UTF8.self)
        return before.allSatisfy { " \t\r-\"'#".contains($0) } || ["export ", "set "].contains(where: before.hasSuffix)
    }

    private func assignedValue(behind separator: Int, startsLine: Bool) -> Range<Int>? {
        var start = separator + 1
        while start < bytes.count, start - separator < 6, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
        guard start < bytes.count else { return nil }
        if "\"'`".utf8.contains(bytes[start]) {
            let rest = bytes[(start + 1)...].prefix(4096)
            guard let end = rest.firstIndex(where: { $0 == bytes[start] || $0 == 0x0A }), bytes[end] == bytes[start],
                end > start + 1
            else { return nil }
            return start + 1..<end
        }
        let isEquals = bytes[separator] == UInt8(ascii: "=")
        // A comparison, and an address.
        if "=>/:".utf8.contains(bytes[start]) || isEquals && separator > 0 && "!<>=".utf8.contains(bytes[separator - 1])
        {
            return nil
        }
        // A query has its own grammar, and code has blanks around its operators.
        let ends = isEquals ? "&;,)]}\"'<>|" : ",;)]}\"'<>|"
        let value = bytes[start...].prefix(4096).prefix { $0 > 0x20 && !ends.utf8.contains($0) }
        guard !value.isEmpty else { return nil }
        if isEquals, start == separator + 1 { return value.indices }
        let rest = bytes[value.endIndex...].prefix { $0 != 0x0A && $0 != 0x0D }.drop { $0 == 0x20 || $0 == 0x09 }
        let isAlone = startsLine && (rest.isEmpty || rest.first == UInt8(ascii: "#"))
        return isAlone || value.count >= 6 && value.contains(where: \.isDigit) ? value.indices : nil
    }

    /// Whether a value only refers to a secret, as in `${TOKEN}`, or is a scheme with the secret behind it.
    private func isReference(_ value: Range<Int>) -> Bool {
        if let first = bytes[value].first, "$%<{*".utf8.contains(first) { return true }
        let word = String(decoding: bytes[value].prefix(10), as: UTF8.self).lowercased()
        return ["null", "nil", "none", "true", "false", "undefined", "basic", "bearer", "digest"].contains(word)
    }
}

extension String {
    /// Whether a URL, or a text with URLs, has one of the characters that every user name, item and encoded value needs.
    package var mayHoldSecretPart: Bool {
        !allUTF8 {
            $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: "{")
        }
    }
}

/// Finds the secrets in the path of a URL: the rest of a webhook's address, a bot's token, and a token after a word such as
/// `reset`.
///
/// Whoever has the address of a webhook may post to it. The hosts of such addresses are known; on all other hosts, a segment
/// is secret only if it looks random and follows a word that announces a token.
package enum SecretPath {
    /// The hosts, in which a leading dot stands for any subdomain, and the start of the paths behind which all is secret.
    private static let addresses = [
        ("hooks.slack.com", "/services/"), ("hooks.slack.com", "/workflows/"), ("hooks.slack.com", "/triggers/"),
        ("api.telegram.org", "/bot"), ("api.telegram.org", "/file/bot"), (".office.com", "/webhook/"),
        (".office.com", "/webhookb2/"), ("hooks.zapier.com", "/hooks/catch/"), ("webhook.site", "/"),
        ("discord.com", "/api/webhooks/"), ("discordapp.com", "/api/webhooks/"), ("outlook.office365.com", "/webhook/"),
        (".make.com", "/"), ("hook.integromat.com", "/"), ("events.pagerduty.com", "/integration/"),
        ("alert.victorops.com", "/integrations/"), ("open.feishu.cn", "/open-apis/bot/v2/hook/"),
        ("open.larksuite.com", "/open-apis/bot/v2/hook/"),
    ].map { (host: Array($0.utf8), path: Array($1.utf8)) }
    /// A bit for the letters before the ending of each host: most other hosts differ in them.
    private static let endings = addresses.reduce(0) { $0 | ending(of: $1.host) }

    private static func ending(of host: some BidirectionalCollection<UInt8>) -> UInt64 {
        1 << host.suffix(6).prefix(2).reduce(0 as UInt64) { $0 << 1 ^ UInt64($1 & 31) }
    }

    /// Words after which a segment that looks random is a token, also one in the form of a UUID.
    private static let announcements: Set<String> = [
        "activate", "activation", "confirm", "confirmation", "forgot", "invitation", "invitations", "invite",
        "invites", "magic", "magiclink", "passwordreset", "recover", "recovery", "reset", "resetpassword", "unlock",
        "unsubscribe", "verification", "verify", "verifyemail", "confirmemail", "acceptinvite", "forgotpassword",
    ]
    /// Words after which a UUID may be the number of a resource.
    private static let weakAnnouncements: Set<String> = [
        "hook", "hooks", "token", "tokens", "webhook", "webhooks", "incomingwebhook", "services", "key",
    ]
    /// The length of the shortest segment that may be a token.
    static let leastLength = 16

    /// The host of an authority, if paths on it may be the addresses of webhooks or bots; nil for all other hosts.
    package static func addressedHost(of authority: String) -> String? {
        // An authority that ends in a letter has no port.
        if authority.utf8.last ?? 0 > 0x40, ending(of: authority.utf8) & endings == 0 { return nil }
        let host = self.host(in: Array(authority.utf8)[...])
        let isAddressed = addresses.contains { matches(host, $0.host) }
        return isAddressed ? String(decoding: host, as: UTF8.self).lowercased() : nil
    }

    /// Whether a URL has a segment that is long enough for a token and has a digit or a capital, or is the address of a hook
    /// or a bot: most have none.
    package static func mayHoldSecret(_ url: String) -> Bool {
        guard url.utf8.count > leastLength else { return false }
        let (hook, bot): (UInt32, UInt32) = (0x686F_6F6B, 0x2F62_6F74)
        var (length, hasMark, last) = (0, false, 0 as UInt32)
        return !url.allUTF8 { byte in
            last = last << 8 | UInt32(byte)
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") {
                (length, hasMark) = (0, false)
            } else {
                length += 1
                hasMark = hasMark || byte.isDigit || byte.isUppercase
            }
            return (length < leastLength || !hasMark) && last != hook && last != bot
        }
    }

    /// The secrets in the path of a URL.
    static func all(in url: ArraySlice<UInt8>) -> [Range<Int>] {
        var rest = url.prefix(12).firstIndex(of: UInt8(ascii: ":")).map { url[($0 + 1)...] } ?? url
        if !rest.starts(with: "//".utf8) { rest = url }
        let authority = rest.starts(with: "//".utf8) ? rest.dropFirst(2).prefix { !"/?#".utf8.contains($0) } : nil
        let path = url[(authority?.endIndex ?? url.startIndex)...].prefix { !"?#".utf8.contains($0) }
        guard let host = authority.map(host),
            let prefix = addresses.first(where: { matches(host, $0.host) && path.starts(with: $0.path) })?.path
        else { return announced(in: path) }
        // The method of a bot's interface follows its token.
        let isBot = prefix.suffix(3).elementsEqual("bot".utf8)
        let secret = path.dropFirst(prefix.count).prefix { !isBot || $0 != UInt8(ascii: "/") }
        return secret.isEmpty ? announced(in: path) : [secret.indices]
    }

    private static func host(in authority: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
        return host.prefix { $0 != UInt8(ascii: ":") }
    }

    private static func matches(_ host: ArraySlice<UInt8>, _ known: [UInt8]) -> Bool {
        let end = known[0] == UInt8(ascii: ".") ? host.suffix(known.count) : host
        return end.count == known.count && zip(end, known).allSatisfy { $0.inLowerCase == $1 }
    }

    private static func announced(in path: ArraySlice<UInt8>) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var (isAnnounced, isWeaklyAnnounced) = (false, false)
        let segments = path.split(separator: UInt8(ascii: "/"))
        guard segments.contains(where: { $0.count >= leastLength }) else { return [] }
        for segment in segments {
            if segment.count >= leastLength, isAnnounced || isWeaklyAnnounced {
                if OpaqueText.isOpaque(segment, orUUID: isAnnounced) { found.append(segment.indices) }
            } else if isBot(segment) {
                found.append(segment.startIndex + 3..<segment.endIndex)
            } else if segment.count <= 16 {
                let word = SecretNameSet.normalized(segment)
                isAnnounced = isAnnounced || announcements.contains(word)
                isWeaklyAnnounced = isWeaklyAnnounced || weakAnnouncements.contains(word)
            }
        }
        return found
    }

    /// Whether a segment has the form of `bot123456789:AAF…`, with a token behind its first three letters.
    private static func isBot(_ segment: ArraySlice<UInt8>) -> Bool {
        guard segment.starts(with: "bot".utf8) else { return false }
        let digits = segment.dropFirst(3).prefix(while: \.isDigit)
        let rest = segment[digits.endIndex...]
        let colon = rest.first == UInt8(ascii: ":") ? 1 : rest.starts(with: "%3A".utf8) ? 3 : 0
        return (6...12).contains(digits.count) && colon > 0 && rest.count - colon >= 30
    }
}
