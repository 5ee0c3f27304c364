import Decorum

/// A seeded generator in the form that the standard library draws from.
struct SeededDice: RandomNumberGenerator {
    private let generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    func next() -> UInt64 { generator.next() }
}
