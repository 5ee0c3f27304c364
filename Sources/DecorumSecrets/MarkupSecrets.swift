/// XML and HTML, of which only the tags are read, so markup that is not well-formed is searched too.
extension SecretSearch {
    /// Finds the values of elements and attributes with secret names.
    package mutating func findInMarkup() {
        guard !rules.jsonNames.isEmpty else { return }
        position = 0
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
        for (name, value) in attributes { add(value, named: localName(name)) }
        // A form field or a property, as in `<meta name="csrf-token" content="…">` and `<input type="password" value="…">`.
        func values(of names: String...) -> [Range<Int>] {
            attributes.filter { attribute in
                names.contains { $0.utf8.elementsEqual(bytes[attribute.name].lazy.map { $0 | 0x20 }) }
            }.map(\.value)
        }
        if let value = values(of: "value", "content").first {
            for name in values(of: "name", "type") { add(value, named: localName(name)) }
        }
        guard position < bytes.count, bytes[position] == UInt8(ascii: ">") else { return }
        let isEmpty = bytes[position - 1] == UInt8(ascii: "/")
        position += 1
        let name = localName(element)
        if !isEmpty, rules.jsonNames.secrecy(of: bytes[name]) != nil { add(scanContent(), named: name) }
    }

    private mutating func scanContent() -> Range<Int> {
        let start = position
        guard !bytes[start...].starts(with: "<![CDATA[".utf8) else {
            position = start + 9
            let content = position
            while position < bytes.count, !bytes[position...].starts(with: "]]>".utf8) { position += 1 }
            return content..<position
        }
        position = bytes[start...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        let content = bytes[start..<position].drop { $0 <= 0x20 }
        return content.startIndex..<(content.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? content.startIndex)
    }

    /// Adds a value of the format, unless it is empty or its name is not secret.
    private mutating func add(_ value: Range<Int>, named name: Range<Int>) {
        guard !value.isEmpty, rules.jsonNames.isSecret(bytes[value], of: bytes[name]) else { return }
        found.append(Found(range: value, kind: .value(name: name)))
    }

    /// A name without its namespace.
    private func localName(_ name: Range<Int>) -> Range<Int> {
        let colon = bytes[name].lastIndex(of: UInt8(ascii: ":"))
        return (colon.map { $0 + 1 } ?? name.lowerBound)..<name.upperBound
    }

    private mutating func scanName() -> Range<Int> {
        let name = bytes[position...].prefix { $0.isInWord || $0 >= 0x80 || $0 == 0x2E || $0 == UInt8(ascii: ":") }
        position = name.endIndex
        return name.indices
    }

    /// Scans the rest of an attribute; nil when it has no value.
    private mutating func scanAttributeValue(of name: Range<Int>) -> Range<Int>? {
        position = bytes[position...].prefix { $0 <= 0x20 }.endIndex
        guard position < bytes.count, bytes[position] == UInt8(ascii: "=") else { return nil }
        position += 1
        position = bytes[position...].prefix { $0 <= 0x20 }.endIndex
        guard position < bytes.count else { return nil }
        guard "\"'".utf8.contains(bytes[position]) else {
            // In a script, a name behind `<` and other marks is no attribute.
            guard bytes[name.lowerBound - 1] <= 0x20 else { return nil }
            let value = bytes[position...].prefix { $0 > 0x20 && $0 != UInt8(ascii: ">") }
            position = value.endIndex
            return value.indices
        }
        let start = position + 1
        let end = bytes[start...].firstIndex(of: bytes[position]) ?? bytes.count
        position = min(end + 1, bytes.count)
        return start..<end
    }
}

/// Tables of text (RFC 4180).
extension SecretSearch {
    /// The byte between the cells of a table: a comma or a tab; nil if the media type is that of something else.
    package static func delimiter(ofMediaType essence: String?) -> UInt8? {
        essence == "text/csv" ? UInt8(ascii: ",") : essence == "text/tab-separated-values" ? 0x09 : nil
    }

    /// Finds the cells below secret headings, without the quotation marks around them; in place of a comma as delimiter, a
    /// semicolon in the headings counts too.
    package mutating func findInTable(delimiter: UInt8) {
        position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let headings = bytes.prefix { $0 != 0x0A }
        let hasSemicolons = headings.contains(UInt8(ascii: ";")) && !headings.contains(delimiter)
        let delimiter = hasSemicolons ? UInt8(ascii: ";") : delimiter
        let columns = scanRow(delimiter).map { rules.jsonNames.secrecy(of: bytes[$0]) == nil ? nil : $0 }
        guard columns.contains(where: { $0 != nil }) else { return }
        while position < bytes.count {
            for (cell, heading) in zip(scanRow(delimiter), columns) {
                if let heading { add(cell, named: heading) }
            }
        }
    }

    private mutating func scanRow(_ delimiter: UInt8) -> [Range<Int>] {
        var cells = [scanCell(delimiter)]
        while position < bytes.count, bytes[position] == delimiter {
            position += 1
            cells.append(scanCell(delimiter))
        }
        if position < bytes.count, bytes[position] == 0x0D { position += 1 }
        if position < bytes.count, bytes[position] == 0x0A { position += 1 }
        return cells
    }

    private mutating func scanCell(_ delimiter: UInt8) -> Range<Int> {
        var content: Range<Int>?
        if position < bytes.count, bytes[position] == UInt8(ascii: "\"") {
            let start = position + 1
            position = start
            while true {
                position = bytes[position...].firstIndex(of: UInt8(ascii: "\"")) ?? bytes.count
                guard bytes[position...].starts(with: "\"\"".utf8) else { break }
                position += 2
            }
            content = start..<position
        }
        let start = position
        position = bytes[start...].firstIndex { $0 == delimiter || $0 == 0x0A || $0 == 0x0D } ?? bytes.count
        return content ?? start..<position
    }
}
