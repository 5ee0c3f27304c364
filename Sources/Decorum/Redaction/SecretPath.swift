/// Finds the secrets in the path of a URL: the rest of a webhook's address, a bot's token, and a token after a word such
/// as `reset`.
///
/// In `https://hooks.slack.com/services/T01/B02/x`, whoever has the address may post. The hosts of such addresses are
/// known; on all other hosts, a segment is secret only if it looks random and follows a word that announces a token.
struct SecretPath {
    /// A host and the start of the paths on it after which everything is secret.
    ///
    /// A leading dot stands for any subdomain.
    private static let addresses: [(host: String, path: String)] = [
        ("hooks.slack.com", "/services/"), ("hooks.slack.com", "/workflows/"), ("hooks.slack.com", "/triggers/"),
        ("discord.com", "/api/webhooks/"), ("discordapp.com", "/api/webhooks/"), ("api.telegram.org", "/bot"),
        ("api.telegram.org", "/file/bot"), ("outlook.office.com", "/webhook/"),
        ("outlook.office365.com", "/webhook/"), (".webhook.office.com", "/webhookb2/"),
        ("hooks.zapier.com", "/hooks/catch/"), (".make.com", "/"), ("hook.integromat.com", "/"),
        ("webhook.site", "/"), ("events.pagerduty.com", "/integration/"), ("alert.victorops.com", "/integrations/"),
        ("open.feishu.cn", "/open-apis/bot/v2/hook/"), ("open.larksuite.com", "/open-apis/bot/v2/hook/"),
    ]
    private static let hosts = Set(addresses.map(\.host))
    /// The addresses as bytes, which are compared for each URL.
    private static let addressBytes = addresses.map { (host: Array($0.host.utf8), path: Array($0.path.utf8)) }

    /// The host of an authority, if paths on it may be the addresses of webhooks or bots; nil for all other hosts.
    static func addressedHost(of authority: String) -> String? {
        var host = authority
        // Most authorities are a host alone, in small letters.
        if !authority.allUTF8({ $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "@") && !(0x41...0x5A).contains($0) }) {
            let name = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
            host = name.prefix { $0 != ":" }.lowercased()
        }
        let isAddressed = hosts.contains(host) || host.hasSuffix(".make.com") || host.hasSuffix(".webhook.office.com")
        return isAddressed ? host : nil
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
    private static let longestAnnouncement = 16
    /// The length of the shortest segment that may be a token.
    static let leastLength = 16

    /// The secrets in the path of a URL.
    static func all(in bytes: [UInt8], url: Range<Int>, steps: inout Int) -> [Range<Int>] {
        steps += url.count
        let authority = authority(in: bytes, url)
        let start = authority?.upperBound ?? url.lowerBound
        let end = bytes[start..<url.upperBound].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        let path = start..<(end ?? url.upperBound)
        if let authority, let secret = knownAddress(in: bytes, authority, path) { return [secret] }
        return announced(in: bytes, path, steps: &steps)
    }

    /// Whether a URL has a segment that is long enough for a token and has a digit or a capital, or is that of a hook or a
    /// bot: most have none.
    static func mayHoldSecret(_ url: String) -> Bool {
        guard url.utf8.count > leastLength else { return false }
        var length = 0
        var hasMark = false
        var last: UInt32 = 0
        return !url.allUTF8 { byte in
            last = last << 8 | UInt32(byte)
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") {
                (length, hasMark) = (0, false)
            } else {
                length += 1
                hasMark = hasMark || byte.isDecimalDigit || (0x41...0x5A).contains(byte)
            }
            return (length < leastLength || !hasMark) && last != hook && last != bot
        }
    }

    private static let hook: UInt32 = 0x686F_6F6B
    private static let bot: UInt32 = 0x2F62_6F74

    private static func authority(in bytes: [UInt8], _ url: Range<Int>) -> Range<Int>? {
        guard let colon = bytes[url].prefix(12).firstIndex(of: UInt8(ascii: ":")),
            bytes[colon..<url.upperBound].starts(with: "://".utf8)
        else {
            guard bytes[url].starts(with: "//".utf8) else { return nil }
            return rest(of: bytes, url.lowerBound + 2, url)
        }
        return rest(of: bytes, colon + 3, url)
    }

    private static func rest(of bytes: [UInt8], _ start: Int, _ url: Range<Int>) -> Range<Int> {
        let end = bytes[start..<url.upperBound].firstIndex { byte in
            byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
        }
        return start..<(end ?? url.upperBound)
    }

    private static func knownAddress(in bytes: [UInt8], _ authority: Range<Int>, _ path: Range<Int>) -> Range<Int>? {
        var host = bytes[authority]
        if let at = host.lastIndex(of: UInt8(ascii: "@")) { host = host[(at + 1)...] }
        if let colon = host.firstIndex(of: UInt8(ascii: ":")) { host = host[..<colon] }
        for (name, prefix) in addressBytes {
            let matches = name.first == UInt8(ascii: ".") ? host.ends(with: name) : host.isSame(as: name)
            guard matches, bytes[path].starts(with: prefix) else { continue }
            let secret = path.lowerBound + prefix.count..<path.upperBound
            // The method of a bot's interface follows its token.
            let isBot = prefix.ends(with: "bot".utf8)
            let end = isBot ? bytes[secret].firstIndex(of: UInt8(ascii: "/")) ?? secret.upperBound : secret.upperBound
            return secret.lowerBound < end ? secret.lowerBound..<end : nil
        }
        return nil
    }

    private static func announced(in bytes: [UInt8], _ path: Range<Int>, steps: inout Int) -> [Range<Int>] {
        guard hasLongSegment(bytes[path]) else { return [] }
        var found: [Range<Int>] = []
        var isAnnounced = false
        var isWeaklyAnnounced = false
        var start = path.lowerBound
        while start < path.upperBound {
            let end = bytes[start..<path.upperBound].firstIndex(of: UInt8(ascii: "/")) ?? path.upperBound
            let segment = bytes[start..<end]
            steps += segment.count
            if segment.count >= leastLength, isAnnounced || isWeaklyAnnounced {
                if OpaqueText.isOpaque(segment), isAnnounced || !OpaqueText.isUUID(segment) {
                    found.append(start..<end)
                }
            } else if segment.count > 2, let token = botToken(segment) {
                found.append(start + token..<end)
            } else if segment.count <= longestAnnouncement {
                let word = SecretNames.normalized(segment)
                isAnnounced = isAnnounced || announcements.contains(word)
                isWeaklyAnnounced = isWeaklyAnnounced || weakAnnouncements.contains(word)
            }
            start = end + 1
        }
        return found
    }

    /// Whether some segment of a path is long enough for a token.
    private static func hasLongSegment(_ path: ArraySlice<UInt8>) -> Bool {
        var length = 0
        for byte in path {
            length = byte == UInt8(ascii: "/") ? 0 : length + 1
            if length >= leastLength { return true }
        }
        return false
    }

    /// The start of the token in `bot123456789:AAF…`; nil if the segment is none.
    private static func botToken(_ segment: ArraySlice<UInt8>) -> Int? {
        guard segment.starts(with: "bot".utf8) else { return nil }
        let digits = segment.dropFirst(3).prefix(while: \.isDecimalDigit)
        let rest = segment[digits.endIndex...]
        let colon = rest.first == UInt8(ascii: ":") ? 1 : rest.starts(with: "%3A".utf8) ? 3 : 0
        guard (6...12).contains(digits.count), colon > 0, rest.count - colon >= 30 else { return nil }
        return 3
    }
}

/// Texts that look random, as tokens do.
package enum OpaqueText {
    /// Whether a text may be a token: some part between separators is long and mixes letters and digits, or the text does
    /// not consist of words.
    package static func isOpaque(_ text: ArraySlice<UInt8>) -> Bool {
        guard (SecretPath.leastLength...2048).contains(text.count),
            text.allSatisfy({ TokenSearch.isWord($0) || ".~%+=/@:".utf8.contains($0) })
        else { return false }
        if isUUID(text) { return true }
        return hasRandomPart(text, of: 10) || !WordPairs.prevail(in: text)
    }

    /// Whether some part between separators has a number of characters or more, and mixes letters and digits.
    private static func hasRandomPart(_ text: ArraySlice<UInt8>, of count: Int) -> Bool {
        text.split(whereSeparator: { !$0.isASCIILetterOrDigit }).contains { part in
            guard part.count >= count else { return false }
            var changes = 0
            for (one, other) in zip(part, part.dropFirst()) where one.isDecimalDigit != other.isDecimalDigit {
                changes += 1
            }
            // Dates and versions after a word change once, and so does one in 600 texts of 16 hexadecimal digits.
            return changes >= 2
                || changes == 1 && part.count >= 16 && part.allSatisfy { PercentCoding.hexDigit($0) != nil }
        }
    }

    /// Whether a text is a path or the name of a file, as the key of an object in a store is.
    ///
    /// Base64 has slashes too, so neither its other characters nor a long part that looks random may be there, unless the
    /// text ends like the name of a file. The parts of a UUID are shorter.
    static func isPath(_ text: ArraySlice<UInt8>) -> Bool {
        guard !text.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "=") }) else { return false }
        return endsLikeFile(text)
            || text.count(where: { $0 == UInt8(ascii: "/") }) > 1 && !hasRandomPart(text, of: 13)
    }

    /// Whether a text has one point, and after it an ending in lower case, as in `.jpg` and `.mp4`.
    private static func endsLikeFile(_ text: ArraySlice<UInt8>) -> Bool {
        guard let dot = text.lastIndex(of: UInt8(ascii: ".")) else { return false }
        let ending = text[(dot + 1)...]
        return (1...5).contains(ending.count) && !text[..<dot].contains(UInt8(ascii: "."))
            && ending.allSatisfy { $0.isDecimalDigit || (0x61...0x7A).contains($0) }
            && ending.first?.isDecimalDigit == false
    }

    /// Whether a text is a UUID (RFC 9562).
    static func isUUID(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count == 36 else { return false }
        return text.enumerated().allSatisfy { index, byte in
            [8, 13, 18, 23].contains(index) ? byte == UInt8(ascii: "-") : PercentCoding.hexDigit(byte) != nil
        }
    }
}

extension BidirectionalCollection<UInt8> {
    fileprivate func isSame(as text: some Collection<UInt8>) -> Bool {
        count == text.count && zip(self, text).allSatisfy { ((0x41...0x5A).contains($0) ? $0 | 0x20 : $0) == $1 }
    }

    fileprivate func ends(with text: some Collection<UInt8>) -> Bool { suffix(text.count).isSame(as: text) }
}
