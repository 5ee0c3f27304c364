extension StandardStack: CustomStringConvertible {
    /// One line for each part, outermost first, with its layers and their settings; “–” for one that is left out.
    ///
    /// Parts that the composition adds for what is passed to it, such as credentials, are left out.
    public var description: String {
        let problems = problems
        guard problems.isEmpty else { return "StandardStack: \(StackSettingsError(problems))" }
        let width = Part.allCases.map(\.rawValue.count).max() ?? 0
        let lines = Part.allCases.map { part in
            let layers = layers(of: part).map(\.description).joined(separator: ", ")
            let name = part.rawValue + String(repeating: " ", count: width - part.rawValue.count)
            return "  \(name)  \(layers.isEmpty ? "–" : layers)"
        }
        return (["StandardStack"] + lines).joined(separator: "\n")
    }

    private func layers(of part: Part) -> [Layer] {
        let nothing = ClosureConnection { _ in Response(status: .notImplemented) }
        let added = try? add(part, to: nothing, StackIngredients())
        return added?.layers.dropLast() ?? []
    }
}
