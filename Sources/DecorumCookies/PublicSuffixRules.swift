import Foundation

/// The rules of the public suffix list.
struct PublicSuffixRules: Sendable {
    private var plain: Set<String> = []
    private var wildcards: Set<String> = []
    private var exceptions: Set<String> = []

    init(_ list: String) {
        for line in list.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            // A rule ends at the first blank.
            guard let text = line.split(whereSeparator: \.isBlank).first.flatMap({ String($0) }),
                !text.hasPrefix("//")
            else { continue }
            if text.hasPrefix("!") {
                exceptions.insert(Punycode.host(String(text.dropFirst())))
            } else if text.hasPrefix("*.") {
                wildcards.insert(Punycode.host(String(text.dropFirst(2))))
            } else {
                plain.insert(Punycode.host(text))
            }
        }
    }

    var count: Int { plain.count + wildcards.count + exceptions.count }

    /// Whether a host is a suffix itself; a name without a dot is one, also where no rule names it.
    func contains(_ host: String) -> Bool {
        guard let dot = host.firstIndex(of: ".") else { return true }
        if plain.contains(host) { return true }
        return wildcards.contains(String(host[host.index(after: dot)...])) && !exceptions.contains(host)
    }
}

/// The form of international names that is sent (RFC 3492), for the rules of the list, which are in lower case.
enum Punycode {
    static func host(_ name: String) -> String {
        let name = name.lowercased()
        guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return name }
        return name.split(separator: ".", omittingEmptySubsequences: false).map { label in
            label.utf8.allSatisfy { $0 < 0x80 } ? String(label) : "xn--" + encode(label)
        }.joined(separator: ".")
    }

    private static func encode(_ label: Substring) -> String {
        let scalars = label.precomposedStringWithCanonicalMapping.unicodeScalars.map { Int($0.value) }
        let basic = scalars.filter { $0 < 0x80 }
        var output = basic.map { UInt8($0) }
        if !output.isEmpty { output.append(UInt8(ascii: "-")) }
        var (code, delta, bias, handled) = (0x80, 0, 72, basic.count)
        while handled < scalars.count {
            guard let next = scalars.filter({ $0 >= code }).min() else { break }
            delta += (next - code) * (handled + 1)
            code = next
            for scalar in scalars {
                if scalar < code { delta += 1 }
                guard scalar == code else { continue }
                output += digits(of: delta, bias: bias)
                bias = adapted(delta, count: handled + 1, isFirst: handled == basic.count)
                delta = 0
                handled += 1
            }
            delta += 1
            code += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// A number with digits of variable weight (RFC 3492, section 6.3).
    private static func digits(of number: Int, bias: Int) -> [UInt8] {
        var (rest, base, output) = (number, 36, [UInt8]())
        while true {
            let threshold = min(max(base - bias, 1), 26)
            guard rest >= threshold else { break }
            output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
            rest = (rest - threshold) / (36 - threshold)
            base += 36
        }
        return output + [digit(rest)]
    }

    private static func digit(_ value: Int) -> UInt8 {
        value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "0") + UInt8(value - 26)
    }

    private static func adapted(_ delta: Int, count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var steps = 0
        while delta > 455 {
            delta /= 35
            steps += 36
        }
        return steps + 36 * delta / (delta + 38)
    }
}
