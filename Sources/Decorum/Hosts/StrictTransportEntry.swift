import Foundation

/// The wish of a host to be reached over https alone, until a date.
struct StrictTransportEntry: Sendable, Hashable {
    /// The longest time, in seconds, for which a wish is kept.
    static let longestAge = 10 * 366 * 86_400

    /// The end of the time, in seconds since 1970.
    var end: Int64
    var includesSubdomains: Bool

    /// The line of a file, in the form of curl.
    func line(for host: String) -> String {
        let date = CivilDate(seconds: HTTPDate(Date(timeIntervalSince1970: Double(end))).seconds)
        let parts = [
            (date.year, 4), (date.month, 2), (date.day, 2), (date.hour, 2), (date.minute, 2), (date.second, 2),
        ]
        let digits = parts.map { number, count in
            String(repeating: "0", count: max(0, count - "\(number)".count)) + "\(number)"
        }
        let time = digits[..<3].joined() + " " + digits[3...].joined(separator: ":")
        return "\(includesSubdomains ? "." : "")\(host) \"\(time)\""
    }

    /// The entries of a file; lines that are none are left out.
    ///
    /// - Parameters:
    ///   - text: The text of the file.
    ///   - limit: The largest number of entries to read.
    /// - Returns: The entries by their hosts.
    static func all(in text: String, upTo limit: Int) -> [String: StrictTransportEntry] {
        var entries: [String: StrictTransportEntry] = [:]
        for line in text.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            guard entries.count < limit else { break }
            guard line.first != UInt8(ascii: "#"), let (host, entry) = parse(Substring(line)) else { continue }
            entries[host] = entry
        }
        return entries
    }

    private static func parse(_ line: Substring) -> (String, StrictTransportEntry)? {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard let name = parts.first else { return nil }
        let covers = name.hasPrefix(".")
        guard let origin = try? Origin(scheme: "https", host: String(covers ? name.dropFirst() : name)),
            !Origin.isAddress(origin.host), origin.host.utf8.count <= 253
        else { return nil }
        var end = Int64.max
        if parts.count > 1 {
            let date = parts[1].trimmingCharacters(in: .whitespaces)
            guard date.hasPrefix("\""), date.hasSuffix("\""), date.utf8.count > 2 else { return nil }
            let words = date.dropFirst().dropLast()
            if words != "unlimited" {
                guard let seconds = seconds(of: words) else { return nil }
                end = seconds
            }
        }
        return (origin.host.droppingLastDot, StrictTransportEntry(end: end, includesSubdomains: covers))
    }

    /// The seconds since 1970 of a date such as `20271231 23:59:59`.
    private static func seconds(of text: Substring) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 17, bytes[8] == 0x20, bytes[11] == UInt8(ascii: ":"), bytes[14] == UInt8(ascii: ":") else {
            return nil
        }
        let ranges = [0..<4, 4..<6, 6..<8, 9..<11, 12..<14, 15..<17]
        var numbers: [Int] = []
        for range in ranges {
            guard bytes[range].allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            numbers.append(bytes[range].reduce(0) { $0 * 10 + Int($1 - 0x30) })
        }
        let date = CivilDate(
            year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4],
            second: numbers[5])
        guard date.day >= 1, date.day <= date.daysInMonth, date.hour < 24, date.minute < 60, date.second <= 60 else {
            return nil
        }
        return date.seconds
    }
}
