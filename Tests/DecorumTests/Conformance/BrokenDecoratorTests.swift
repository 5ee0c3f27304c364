import DecorumTesting
import Testing

/// The laws themselves, each held to a decorator that breaks it and no other.
@Suite(.timeLimit(.minutes(2))) struct BrokenDecoratorTests {
    @Test(arguments: BrokenDecorator.all)
    func `A broken decorator is caught by the law that it breaks, and by no other`(decorator: BrokenDecorator) async {
        var broken: [DecoratorLaw] = []
        var sentences: [String] = []
        for law in DecoratorLaw.all {
            do {
                try await law.check(adding: decorator.addedFields, decorator.decorate)
            } catch {
                #expect(error is ConformanceFailure, "\(law)")
                broken.append(law)
                sentences.append("\(error)")
            }
        }

        #expect(broken == [decorator.law], "\(sentences)")
    }

    @Test func `Every law has a decorator that breaks it`() {
        #expect(Set(BrokenDecorator.all.map(\.law)) == Set(DecoratorLaw.all))
    }
}
