/// The lines of an error that name interactions: the first ones, and the number of the others.
func listed(_ interactions: [String], upTo limit: Int = 10) -> String {
    let shown = interactions.prefix(limit).map { "\n  \($0)" }.joined()
    return interactions.count > limit ? "\(shown)\n  and \(interactions.count - limit) more" : shown
}
