import DecorumArchive

extension ImportedCassette {
    /// The tool that wrote a file, and the version of its format.
    public struct Format: Sendable, Hashable, CustomStringConvertible {
        /// The name of the format.
        public let description: String

        private init(_ description: String) {
            self.description = description
        }

        /// An HTTP archive of a browser or a proxy.
        public static let har = Format("HAR")
        /// An HTTP archive of Polly.js, as JSON or YAML.
        public static let polly = Format("Polly.js")
        /// An HTTP archive of Replay for Swift.
        public static let replay = Format("Replay")
        /// A cassette of VCR for Ruby, or of one of the tools that share its shape.
        public static let vcr = Format("VCR")
        /// A cassette of betamax.
        public static let betamax = Format("betamax")
        /// A cassette of vcrpy.
        public static let vcrpy = Format("vcrpy")
        /// A cassette of the first version of go-vcr.
        public static let goVCR1 = Format("go-vcr 1")
        /// A cassette of go-vcr since its second version.
        public static let goVCR2 = Format("go-vcr 2")
        /// A cassette of DVR.
        public static let dvr = Format("DVR")
        /// A recording of Vinyl.
        public static let vinyl = Format("Vinyl")
        /// A snapshot of undici.
        public static let undici = Format("undici")
        /// A fixture of nock.
        public static let nock = Format("nock")
    }
}

extension ImportedCassette.Format {
    /// Determines the format from the content of the file.
    init(of root: StoredNode) throws {
        if let elements = root.elements {
            self = try Self.ofList(elements, root)
        } else if root["log"] != nil {
            let creator = root["log"]?["creator"]?["name"]?.text?.lowercased() ?? ""
            let isReplay = creator.hasPrefix("replay/") || creator == "replay"
            self = creator.hasPrefix("polly") ? .polly : isReplay ? .replay : .har
        } else if root["http_interactions"] != nil {
            let writer = root["recorded_with"]?.text?.lowercased() ?? ""
            self = writer.hasPrefix("betamax") ? .betamax : .vcr
        } else if let list = root["interactions"] {
            guard root["cassette"] == nil else {
                throw root.fault("this is a cassette of Decorum, which needs no import")
            }
            self = Self.ofInteractions(list, root)
        } else if let first = root.members?.first?.node, first["snapshot"] != nil || first["request"] != nil {
            self = .undici
        } else {
            let members = "log, http_interactions or interactions"
            throw root.fault("its format is unknown, as it has neither \(members) nor a list of exchanges")
        }
    }

    private static func ofInteractions(_ list: StoredNode, _ root: StoredNode) -> Self {
        let first = list.elements?.first
        let response = first?["response"]
        let isPython =
            first?["request"]?["uri"] != nil || response?["status"]?["code"] != nil || response?["status_code"] != nil
        if isPython { return .vcrpy }
        if root["name"] != nil, root["version"] == nil { return .dvr }
        let isGo = response?["code"] != nil || response?["duration"] != nil || response?["proto"] != nil
        if root["version"]?.integer == 2 { return .goVCR2 }
        if isGo { return .goVCR1 }
        return root["version"] != nil ? .vcrpy : .dvr
    }

    private static func ofList(_ elements: [StoredNode], _ root: StoredNode) throws -> Self {
        guard let first = elements.first else {
            throw root.fault("the list is empty, so the format is unknown")
        }
        if let tag = first.value.tag, tag.contains("VCR::") {
            throw first.fault("this is a cassette of VCR 1, which is not read; record it with a newer VCR first")
        }
        if first["snapshot"] != nil { return .undici }
        if first["scope"] != nil { return .nock }
        guard let request = first["request"] else {
            throw first.fault("its exchanges are not in a known format")
        }
        if request["host"] != nil || request.value.tag?.contains("vcr.request") == true {
            throw first.fault("this is a cassette of vcrpy before 1.0, which is not read; vcrpy can migrate it")
        }
        if request["uri"] != nil { throw first.fault("this is a cassette of VCR 1, which is not read") }
        if first["response"]?["status"]?.members != nil {
            throw first.fault("this is a cassette of php-vcr, which is not read")
        }
        return .vinyl
    }
}
