extension Duration {
    /// The duration as short text, as in `0.4 ms`, `12.3 ms`, `2.51 s`, `15 min`, `3 h` or `90 days`; a negative duration
    /// counts as zero.
    var shortText: String {
        let (seconds, attoseconds) = max(self, .zero).components
        switch seconds {
        case 172_800...: return "\((seconds + 43_200) / 86_400) days"
        case 7_200...: return "\((seconds + 1_800) / 3_600) h"
        case 600...: return "\((seconds + 30) / 60) min"
        default: break
        }
        if seconds > 0 {
            let hundredths = attoseconds / 10_000_000_000_000_000
            return "\(seconds).\(hundredths < 10 ? "0" : "")\(hundredths) s"
        }
        let tenths = attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
