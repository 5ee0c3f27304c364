import Foundation
import Testing

@testable import DecorumTesting

@Suite struct StoredDocumentTests {
    @Test(arguments: [
        ("[[],[],[]]", 1, "many values"), (#"{"a": {"b": [1]}}"#, 1, "many values"), ("[1,2,3]", 1, "many values"),
        ("- a\n- b\n- c", 3, "many values"), ("a: &x b\nc: *x", 2, "repeat too much"),
    ])
    func `A document of many small values is refused before it fills the memory`(
        document: String, line: Int, reason: String
    ) {
        var budget = ImportBudget(ImportLimits(valueCount: 4))
        #expect(throws: Never.self) { try StoredDocument.value(of: Data(document.utf8), within: &budget) }
        #expect(budget.count == 0)
        budget = ImportBudget(ImportLimits(valueCount: 3))
        let fault = #expect(throws: ImportFault.self) {
            try StoredDocument.value(of: Data(document.utf8), within: &budget)
        }

        #expect(fault?.reason.contains(reason) == true)
        #expect(fault?.place == "line \(line)")
        #expect(fault?.line == line)
    }
}
