/// Finds the secrets in XML and HTML, by the names of elements and attributes.
///
/// It reads only the tags, from the left and each byte once, so markup that is not well-formed is searched too.
package struct MarkupSecrets: Sendable {
    private let bytes: [UInt8]
    private let names: SecretNameSet
    /// The values of elements and attributes with secret names, in the order of the text.
    package private(set) var found: [SecretSearch.Found] = []
    private var position = 0

    package init(in bytes: [UInt8], names: SecretNameSet) {
        self.bytes = bytes
        self.names = names
        guard !names.isEmpty else { return }
        while let start = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
            position = start + 1
            scanTag()
        }
    }

    private mutating func scanTag() {
        let element = scanName()
        guard !element.isEmpty else { return }
        var attributes: [(name: Range<Int>, value: Range<Int>)] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: ">"), bytes[position] != UInt8(ascii: "<") {
            let name = scanName()
            if name.isEmpty {
                position += 1
            } else if let value = scanAttributeValue(of: name) {
                attributes.append((name, value))
            }
        }
        for (name, value) in attributes { add(value, named: name) }
        addNamedValues(attributes)
        guard position < bytes.count, bytes[position] == UInt8(ascii: ">") else { return }
        let isEmpty = bytes[position - 1] == UInt8(ascii: "/")
        position += 1
        if !isEmpty, names.secrecy(of: bytes[localName(element)]) != nil { addContent(of: element) }
    }

    /// Adds the value of a form field or of a page property, as in `<meta name="csrf-token" content="…">` and
    /// `<input type="password" value="…">`.
    private mutating func addNamedValues(_ attributes: [(name: Range<Int>, value: Range<Int>)]) {
        func values(of names: String...) -> [Range<Int>] {
            attributes.filter { attribute in
                names.contains { $0.utf8.elementsEqual(bytes[attribute.name].lazy.map { $0 | 0x20 }) }
            }.map(\.value)
        }
        guard let value = values(of: "value", "content").first else { return }
        for name in values(of: "name", "type") { add(value, named: name) }
    }

    private mutating func addContent(of element: Range<Int>) {
        let marker = "<![CDATA["
        if bytes[position...].starts(with: marker.utf8) {
            let start = position + marker.utf8.count
            var end = start
            while end < bytes.count, !bytes[end...].starts(with: "]]>".utf8) { end += 1 }
            position = end
            add(start..<end, named: element)
            return
        }
        let end = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        var content = position..<end
        while let first = content.first, bytes[first] <= 0x20 { content.removeFirst() }
        while let last = content.last, bytes[last] <= 0x20 { content.removeLast() }
        position = end
        add(content, named: element)
    }

    private mutating func add(_ value: Range<Int>, named name: Range<Int>) {
        let name = localName(name)
        guard !value.isEmpty, names.isSecret(bytes[value], of: bytes[name]) else { return }
        found.append(SecretSearch.Found(value, named: name))
    }

    /// A name without its namespace.
    private func localName(_ name: Range<Int>) -> Range<Int> {
        let colon = bytes[name].lastIndex(of: UInt8(ascii: ":"))
        return (colon.map { $0 + 1 } ?? name.lowerBound)..<name.upperBound
    }

    private mutating func scanName() -> Range<Int> {
        let start = position
        while position < bytes.count, Self.isInName(bytes[position]) { position += 1 }
        return start..<position
    }

    /// Scans the rest of an attribute; nil when it has no value.
    private mutating func scanAttributeValue(of name: Range<Int>) -> Range<Int>? {
        skipBlanks()
        guard position < bytes.count, bytes[position] == UInt8(ascii: "=") else { return nil }
        position += 1
        skipBlanks()
        guard position < bytes.count else { return nil }
        guard "\"'".utf8.contains(bytes[position]) else {
            // In a script, a name behind `<` and other marks is no attribute.
            guard bytes[name.lowerBound - 1] <= 0x20 else { return nil }
            let start = position
            position = bytes[start...].firstIndex { $0 <= 0x20 || $0 == UInt8(ascii: ">") } ?? bytes.count
            return start..<position
        }
        let start = position + 1
        let end = bytes[start...].firstIndex(of: bytes[position]) ?? bytes.count
        position = min(end + 1, bytes.count)
        return start..<end
    }

    private mutating func skipBlanks() {
        while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
    }

    private static func isInName(_ byte: UInt8) -> Bool {
        byte.isInWord || byte >= 0x80 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ":")
    }
}

/// Finds the secrets in a table of text (RFC 4180), by the headings of its columns.
package struct TableSecrets: Sendable {
    private let bytes: [UInt8]
    private let delimiter: UInt8
    private var position: Int
    /// The cells below secret headings, in the order of the text and without the quotation marks around them.
    package private(set) var found: [SecretSearch.Found] = []

    /// The byte between the cells of a table: a comma or a tab; nil if the media type is that of something else.
    package static func delimiter(ofMediaType essence: String?) -> UInt8? {
        switch essence {
        case "text/csv": return UInt8(ascii: ",")
        case "text/tab-separated-values": return 0x09
        default: return nil
        }
    }

    /// Finds the secrets; in place of a comma as delimiter, a semicolon in the headings counts too.
    package init(in bytes: [UInt8], delimiter: UInt8, names: SecretNameSet) {
        self.bytes = bytes
        position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let headings = bytes.prefix { $0 != 0x0A }
        let hasSemicolons = headings.contains(UInt8(ascii: ";")) && !headings.contains(delimiter)
        self.delimiter = hasSemicolons ? UInt8(ascii: ";") : delimiter
        guard !names.isEmpty else { return }
        let columns = row().map { names.secrecy(of: bytes[$0]) == nil ? nil : $0 }
        guard columns.contains(where: { $0 != nil }) else { return }
        while position < bytes.count {
            for (cell, heading) in zip(row(), columns) {
                guard let heading, names.isSecret(bytes[cell], of: bytes[heading]), !cell.isEmpty else { continue }
                found.append(SecretSearch.Found(cell, named: heading))
            }
        }
    }

    /// Scans a line.
    private mutating func row() -> [Range<Int>] {
        var cells: [Range<Int>] = []
        while true {
            cells.append(cell())
            guard position < bytes.count, bytes[position] == delimiter else { break }
            position += 1
        }
        if position < bytes.count, bytes[position] == 0x0D { position += 1 }
        if position < bytes.count, bytes[position] == 0x0A { position += 1 }
        return cells
    }

    private mutating func cell() -> Range<Int> {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
            let end = bytes[position...].firstIndex { $0 == delimiter || $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            defer { position = end }
            return position..<end
        }
        let start = position + 1
        position = start
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "\"") else {
                position += 1
                continue
            }
            guard position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "\"") else { break }
            position += 2
        }
        let content = start..<position
        position = bytes[position...].firstIndex { $0 == delimiter || $0 == 0x0A || $0 == 0x0D } ?? bytes.count
        return content
    }
}
