extension PlantedSecret {
    /// What a recording does with a planted secret, which follows from what marks it.
    enum Treatment {
        /// Only its shape marks it, or its content is not searched, so the file is not written.
        case refused
        /// Its place in a URL marks it, so that only a rule with the value itself leaves it.
        case replacedByPlace
        /// Its name marks it, and a rule with that name leaves it.
        case replacedByName
    }

    private static let refusedTemplates = Set(
        shapes.map(\.template) + [
            "https://api.example.com/items?q=§", "https://api.example.com/§/items", "your key: §", "paid with § today",
            "§\n", "PK\u{3}\u{4}…§", "\u{A}\u{18}§", "\u{0}\u{18}§",
        ])

    private static let templatesOfPlaces = Set(
        paths.map(\.template) + [
            "https://me:§@api.example.com/items", #"{"url":"https://§@api.example.com/"}"#,
            "0; url=https://a.example/reset/§", #"{"next":"/reset/§"}"#,
            #"{"hook":"https://hooks.slack.com/services/T0/B0/§"}"#,
        ])

    var treatment: Treatment {
        switch part {
        case .requestField("X-Note"), .responseField("X-Note"): return .refused
        default: break
        }
        if Self.refusedTemplates.contains(template) { return .refused }
        return Self.templatesOfPlaces.contains(template) ? .replacedByPlace : .replacedByName
    }

    /// The planted secrets with which a recording does the same.
    static func treated(_ treatment: Treatment) -> [PlantedSecret] {
        (all + recorded).filter { $0.treatment == treatment }
    }
}
