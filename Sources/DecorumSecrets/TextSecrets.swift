// Formats with names beside their values: XML and HTML, tables, and lines of text.
extension SecretSearch {
    /// Finds the secrets in XML and HTML, by the names of elements and attributes.
    ///
    /// It reads only the tags, from the left and each byte once, so markup that is not well-formed is searched too.
    package mutating func findInMarkup() {
        guard !names.isEmpty else { return }
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
        found.append(Found(value, named: name))
    }

    /// A name without its namespace.
    private func localName(_ name: Range<Int>) -> Range<Int> {
        let colon = bytes[name].lastIndex(of: UInt8(ascii: ":"))
        return (colon.map { $0 + 1 } ?? name.lowerBound)..<name.upperBound
    }

    private mutating func scanName() -> Range<Int> {
        let start = position
        while position < bytes.count,
            bytes[position].isInWord || bytes[position] >= 0x80 || ".:".utf8.contains(bytes[position])
        {
            position += 1
        }
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
}

extension SecretSearch {
    /// The byte between the cells of a table: a comma or a tab; nil if the media type is that of something else.
    package static func tableDelimiter(ofMediaType essence: String?) -> UInt8? {
        switch essence {
        case "text/csv": UInt8(ascii: ",")
        case "text/tab-separated-values": 0x09
        default: nil
        }
    }

    /// Finds the secrets in a table of text (RFC 4180), by the headings of its columns.
    ///
    /// In place of a comma as delimiter, a semicolon in the headings counts too.
    package mutating func findInTable(delimiter: UInt8) {
        position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let headings = bytes.prefix { $0 != 0x0A }
        let hasSemicolons = headings.contains(UInt8(ascii: ";")) && !headings.contains(delimiter)
        let delimiter = hasSemicolons ? UInt8(ascii: ";") : delimiter
        guard !names.isEmpty else { return }
        let columns = scanRow(delimiter).map { names.secrecy(of: bytes[$0]) == nil ? nil : $0 }
        guard columns.contains(where: { $0 != nil }) else { return }
        while position < bytes.count {
            for (cell, heading) in zip(scanRow(delimiter), columns) {
                guard let heading, names.isSecret(bytes[cell], of: bytes[heading]), !cell.isEmpty else { continue }
                found.append(Found(cell, named: heading))
            }
        }
    }

    private mutating func scanRow(_ delimiter: UInt8) -> [Range<Int>] {
        var cells: [Range<Int>] = []
        while true {
            cells.append(scanCell(delimiter))
            guard position < bytes.count, bytes[position] == delimiter else { break }
            position += 1
        }
        if position < bytes.count, bytes[position] == 0x0D { position += 1 }
        if position < bytes.count, bytes[position] == 0x0A { position += 1 }
        return cells
    }

    /// Scans a cell; the quotation marks around it belong to no value.
    private mutating func scanCell(_ delimiter: UInt8) -> Range<Int> {
        let start = position
        let isQuoted = start < bytes.count && bytes[start] == UInt8(ascii: "\"")
        var isInQuotes = false
        while position < bytes.count {
            let byte = bytes[position]
            if !isInQuotes, byte == delimiter || byte == 0x0A || byte == 0x0D { break }
            if isQuoted, byte == UInt8(ascii: "\"") { isInQuotes.toggle() }
            position += 1
        }
        // A table may be cut within a cell.
        let isClosed = position - start > 1 && bytes[position - 1] == UInt8(ascii: "\"")
        return isQuoted ? start + 1..<(isClosed ? position - 1 : position) : start..<position
    }
}

extension SecretSearch {
    private static let nameLimit = 48
    private static let valueLimit = 4096

    /// Finds the values of secret names in lines such as `DB_PASSWORD=…`, `token: …` and `api_key = "…"`.
    ///
    /// Prose has colons too. So behind a colon within a line, or of several words, a value without quotes is secret only if
    /// it has a digit; a line of YAML or of a settings file has its name at its start, and one value behind it.
    package mutating func findAssignments() {
        guard !names.isEmpty else { return }
        var index = 0
        while let separator = bytes[index...].firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") })
        {
            index = separator + 1
            guard let secret = assignment(at: separator) else { continue }
            found.append(secret)
            index = max(index, secret.range.upperBound)
        }
    }

    private func assignment(at separator: Int) -> Found? {
        guard let name = name(before: separator), let secrecy = names.secrecy(of: bytes[name]),
            let value = value(behind: separator, startsLine: startsLine(name.lowerBound)), !isReference(value)
        else { return nil }
        if secrecy == .text, bytes[value].allSatisfy(\.isDigit), value.count <= 15 { return nil }
        return Found(value, named: name)
    }

    private func name(before separator: Int) -> Range<Int>? {
        var end = separator
        while end > 0, separator - end < 4, " \t\"'".utf8.contains(bytes[end - 1]) { end -= 1 }
        var start = end
        while start > 0, end - start < Self.nameLimit, bytes[start - 1].isInWord { start -= 1 }
        return end - start > 2 ? start..<end : nil
    }

    /// Whether only blanks, a list mark or `export` stand before a name in its line.
    private func startsLine(_ name: Int) -> Bool {
        let line = bytes[..<name].suffix(40)
        let start = line.lastIndex(of: 0x0A).map { $0 + 1 } ?? line.startIndex
        let before = String(decoding: bytes[start..<name], as: UTF8.self)
        return before.allSatisfy { " \t\r-\"'#".contains($0) } || before.hasSuffix("export ")
            || before.hasSuffix("set ")
    }

    private func value(behind separator: Int, startsLine: Bool) -> Range<Int>? {
        var start = separator + 1
        while start < bytes.count, start - separator < 6, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
        guard start < bytes.count else { return nil }
        if "\"'`".utf8.contains(bytes[start]) {
            let rest = bytes[(start + 1)...].prefix(Self.valueLimit)
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
        let value = bytes[start...].prefix(Self.valueLimit).prefix { $0 > 0x20 && !ends.utf8.contains($0) }
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
