/// The names of members whose values are identifiers, by their last word: `id`, `bookID`, `user_uuid`, `orderNumber`, also in the plural.
///
/// Other words end with the same letters, such as `paid` and `grid`.
enum IdentifierName {
    private static let words = ["id", "uuid", "number"]

    static func includes(_ name: some StringProtocol) -> Bool {
        let name = name.hasSuffix("s") ? String(name.dropLast()) : String(name)
        return words.contains { word in
            guard name.lowercased().hasSuffix(word) else { return false }
            let (start, end) = (name.dropLast(word.count), name.suffix(word.count))
            guard let before = start.last else { return true }
            return !before.isLetter || before.isLowercase && end.first?.isUppercase == true
        }
    }
}
