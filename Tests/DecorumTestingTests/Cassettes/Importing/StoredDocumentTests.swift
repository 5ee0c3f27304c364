import Foundation
import Testing

@testable import DecorumTesting

@Suite struct StoredDocumentTests {
    @Test(arguments: ["[[],[],[]]", #"{"a": {"b": [1]}}"#, "[1,2,3]", "[\"a\", \"b\",\n null]"])
    func `JSON of many small values is refused before it fills the memory`(document: String) throws {
        #expect(throws: Never.self) { try StoredDocument.value(of: Data(document.utf8), countLimit: 4) }
        let fault = #expect(throws: ImportFault.self) {
            try StoredDocument.value(of: Data(document.utf8), countLimit: 3)
        }

        #expect(fault?.reason.contains("too many values") == true)
        #expect(fault?.place == (document.contains("\n") ? "line 2" : "line 1"))
    }
}
