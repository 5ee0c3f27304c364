/// The names of members whose values are identifiers, by their last word: `id`, `bookID`, `user_uuid`.
///
/// Other words end with the same letters, such as `paid` and `grid`.
enum IdentifierName {
    static func includes(_ name: String) -> Bool {
        name.firstMatch(of: /(?:^|[._\-])(?:id|uuid)$|[a-z0-9](?:Id|ID|Uuid|UUID)$|^(?:ID|Id|UUID)$/) != nil
    }
}
