import Foundation
import Testing

@testable import Decorum

extension Data {
    /// The bytes in a content coding, which the tests need and no user does.
    func coded(_ coding: ContentCoding) throws -> Data {
        try #require(try ContentEncoder(coding)?.encode(self, flush: .end))
    }
}
