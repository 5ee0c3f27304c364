import Foundation

/// The file of a jar: JSON with the cookies of one principal, in the order in which they were created.
struct CookieFile: Sendable {
    /// The largest number of bytes of the file.
    private static let limit = 16 << 20

    let file: PrivateFile
    let principal: Principal?
    let keepsSessionCookies: Bool

    private struct Content: Codable {
        var version = 1
        var cookies: [Record]
    }

    fileprivate struct Record: Codable {
        let name: String
        let value: String
        let domain: String
        let hostOnly: Bool
        let path: String
        let expires: Int64?
        let secure: Bool
        let httpOnly: Bool
        let sameSite: String?
    }

    /// Reads the file; cookies that no server could have set are left out.
    ///
    /// - Parameter now: The current time, in seconds since 1970.
    /// - Returns: The cookies, each with an origin that gets it.
    /// - Throws: The error of reading or decoding.
    func cookies(at now: Int64) throws -> [(Cookie, Origin)] {
        guard let data = try file.contents(upTo: Self.limit) else { return [] }
        return try Self.cookies(in: data, at: now)
    }

    static func cookies(in data: Data, at now: Int64) throws -> [(Cookie, Origin)] {
        let content = try JSONDecoder().decode(Content.self, from: data)
        return content.cookies.compactMap { record in
            // Over https, since a server may set any cookie there.
            guard let origin = try? Origin(scheme: "https", host: record.domain), origin.host == record.domain,
                record.hostOnly || !origin.hasAddress,
                let (name, value) = record.pair, record.path.utf8.first == UInt8(ascii: "/"),
                record.path.utf8.count <= SetCookie.attributeLimit,
                !record.path.utf8.contains(where: { $0.isControl || $0 == UInt8(ascii: ";") })
            else { return nil }
            // The clock may have been wrong when the file was written.
            let end = min(record.expires ?? .max, now + CookieRules.longestAge)
            let cookie = Cookie(
                name: name, value: value, domain: record.domain, isHostOnly: record.hostOnly, path: record.path,
                isSecure: record.secure, isHTTPOnly: record.httpOnly,
                sameSite: record.sameSite.flatMap(SetCookie.SameSite.init), end: record.expires == nil ? nil : end)
            return (cookie, origin)
        }
    }

    /// Writes the file soon.
    ///
    /// - Parameter cookies: Returns the cookies when they are written.
    func save(_ cookies: @escaping @Sendable () -> [Cookie]) {
        file.update {
            let records = cookies().filter { keepsSessionCookies || $0.end != nil }.map { cookie in
                Record(
                    name: cookie.name, value: cookie.value, domain: cookie.domain, hostOnly: cookie.isHostOnly,
                    path: cookie.path, expires: cookie.end, secure: cookie.isSecure, httpOnly: cookie.isHTTPOnly,
                    sameSite: cookie.sameSite?.rawValue)
            }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Texts and integers can always be encoded.
            return (try? encoder.encode(Content(cookies: records))) ?? Data()
        }
    }
}

extension CookieFile.Record {
    /// The name and the value, where a server could have set them.
    fileprivate var pair: (name: String, value: String)? {
        guard let parsed = SetCookie(name.isEmpty ? value : "\(name)=\(value)"), parsed.name == name,
            parsed.value == value
        else { return nil }
        return (name, value)
    }
}
