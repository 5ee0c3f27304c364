extension String {
    /// A media type without its parameters and in lower case, as in `text/html` of `Text/HTML; charset=utf-8`.
    package var mediaTypeEssence: String {
        prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
    }
}
