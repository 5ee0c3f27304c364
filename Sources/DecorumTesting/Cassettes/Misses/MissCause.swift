/// The likely cause of a miss, by what the nearest recording that differs has in common with the request.
enum MissCause {
    /// The differences tell the cause.
    case change
    /// The nearest recording has the path of the request at another origin.
    case move
    /// No recording has the method and the path of the request.
    case addition
    /// Nor is the nearest recording similar.
    case loss

    /// Decides the cause.
    ///
    /// - Parameters:
    ///   - live: The request.
    ///   - onPath: The recorded requests with its path.
    ///   - nearest: The nearest recorded request; nil if there is none.
    ///   - difference: The difference to the nearest one.
    ///   - isLeft: Whether the nearest recording is one of the test that it has not played.
    init(
        of live: RecordedRequest, onPath: [RecordedRequest], nearest: RecordedRequest?,
        _ difference: RequestDifference?,
        isLeft: Bool
    ) {
        if onPath.contains(where: { $0.method == live.method }) {
            self = .change
        } else if let nearest, onPath.isEmpty, URLNearness.haveSamePath(nearest.url, live.url) {
            self = .move
        } else if let nearest, isLeft, difference?.disagreements.count == 1,
            URLNearness.haveSimilarPaths(nearest.url, live.url)
        {
            self = .change
        } else {
            self = difference?.isUnrelated == true ? .loss : .addition
        }
    }

    /// The words before the differences; nil if there are none.
    ///
    /// `isExplained` tells whether a line before them names another cause.
    func words(isExplained: Bool) -> String? {
        let absence = "no recording has this method and path"
        switch self {
        case .change: return nil
        case .move:
            return
                "the recorded request went to another origin; only if the server has another port in each run, match by "
                + "`.pathAndQuery` in place of `.url`"
        case .addition:
            return isExplained
                ? nil : "\(absence); it may be a request that the test did not send when it was recorded"
        case .loss:
            let fault = "\(absence), and no similar one was found"
            return isExplained
                ? fault
                : "\(fault); the test may not have sent it when it was recorded, or the file may have lost its recording"
        }
    }
}
