import DecorumConformance
import DecorumTesting
import Testing

/// The laws themselves, held to decorators that break one of them, and those others alone that the mistake breaks too.
@Suite(.timeLimit(.minutes(5))) struct BrokenDecoratorTests {
    @Test(arguments: BrokenDecorator.all)
    func `A broken decorator is caught by the laws that it breaks, and by no other`(decorator: BrokenDecorator) async {
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

        #expect(broken.contains(decorator.law), "\(sentences)")
        #expect(Set(broken).subtracting(decorator.others) == [decorator.law], "\(sentences)")
    }

    @Test func `Every law has a decorator that breaks it`() {
        let laws = BrokenDecorator.all.map(\.law) + PlantedMistake.all.map(\.law)
        #expect(Set(laws) == Set(DecoratorLaw.all))
    }
}
