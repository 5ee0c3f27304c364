import DecorumTesting

extension CassetteRules {
    /// The default rules, without the list of replaced secrets that a recording prints.
    static let silent: CassetteRules = {
        var rules = CassetteRules()
        rules.reportReplacements = nil
        return rules
    }()
}
