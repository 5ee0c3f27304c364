import Foundation
import Testing

@testable import Decorum

/// Texts that look random, and paths, which do not.
@Suite struct OpaqueTextTests {
    @Test(arguments: [
        "Zm9v/YmFyMTIz/NDU2Nzg5YWJjZGVmZ2hpamts", "q8Zr2VtX/k3LmN9pQs7w/B4yT6uJhG1fDx7", "a/b/c+d1e2f3g4h5i6j7",
        "k3LmN9pQs7wB4yT6uJhG1fD.aB3x", "QUJD/REVGMTIz/NDU2Nw==",
    ])
    func `A random text with slashes or a point is no path`(text: String) {
        #expect(!OpaqueText.isPath(Array(text.utf8)[...]))
    }

    @Test(arguments: [
        "uploads/2024/photo1.jpg", "images/a1b2c3d4/thumb_200x300.png", "report-2024-11-22.pdf", "a/b/c",
        "uploads/550e8400-e29b-41d4-a716-446655440000.jpg",
    ])
    func `A path or the name of a file is one`(text: String) {
        #expect(OpaqueText.isPath(Array(text.utf8)[...]))
    }
}
