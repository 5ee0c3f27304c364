/// The lines of an error that name interactions: the first ten, and the number of the others.
func listed(_ interactions: [String]) -> String {
    let shown = interactions.prefix(10).map { "\n  \($0)" }.joined()
    return interactions.count > 10 ? "\(shown)\n  and \(interactions.count - 10) more" : shown
}
