extension String {
    /// The beginning that fits in a number of bytes in UTF-8; nearly always the whole text.
    ///
    /// A single character may have any number of bytes, so that a number of characters bounds no memory.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return String(unicodeScalars[..<end])
    }
}
