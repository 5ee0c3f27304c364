extension Duration {
    /// The duration for a reader, as in `0.4 ms`, `12.3 ms` or `2.51 s`; a negative one counts as none.
    var shortText: String {
        let (seconds, attoseconds) = max(self, .zero).components
        if seconds > 0 {
            let hundredths = attoseconds / 10_000_000_000_000_000
            return "\(seconds).\(hundredths < 10 ? "0" : "")\(hundredths) s"
        }
        let tenths = attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
