import Testing

extension PlantedSecret {
    /// Expects that no output holds the secret, in any of its forms.
    func expectAbsence(from outputs: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        for output in outputs {
            for form in Set(forms) {
                #expect(!output.contains(form), "\(output.prefix(600))", sourceLocation: sourceLocation)
            }
        }
    }
}
