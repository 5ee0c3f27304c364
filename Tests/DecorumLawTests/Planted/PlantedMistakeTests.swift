import DecorumConformance
import DecorumTesting
import Testing

/// The laws, held against the mistakes that authors of decorators make.
@Suite(.timeLimit(.minutes(5))) struct PlantedMistakeTests {
    @Test(arguments: PlantedMistake.all)
    func `A planted mistake is caught by the law against it`(mistake: PlantedMistake) async throws {
        let failure = await #expect(throws: ConformanceFailure.self) {
            try await mistake.decorator.check(mistake.law)
        }
        #expect(failure?.name == mistake.law.name)
    }

    @Test(arguments: PlantedMistake.all.filter(\.isActiveAlone))
    func `A mistake in what a layer does is not seen while it does nothing`(mistake: PlantedMistake) async throws {
        try await mistake.decorator.check(mistake.law, isActive: false)
    }

    @Test(arguments: SampleDecorator.honest)
    func `The same decorator without a mistake keeps all laws`(decorator: SampleDecorator) async {
        for law in DecoratorLaw.all {
            do {
                try await decorator.check(law)
            } catch {
                Issue.record(error, "\(law)")
            }
        }
    }
}
