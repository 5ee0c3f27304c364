extension DecoratorLaw {
    /// All laws.
    public static let all = ConformanceSuite<DecoratorLaw>([
        .requestBodiesOnce, .requestStreaming, .requestTrailers, .requestFields, .responseBodiesOnce,
        .responseStreaming, .responseTrailers, .responseFields, .release, .earlyDrop, .cancellation, .bodyCancellation,
        .silenceAfterCancellation, .idleness, .statuses, .errors, .bodyErrors, .options, .metadata, .concurrency,
        .layerOrder, .declaredResending, .declaredAnswering, .declaredChanges, .declaredSecrets, .writtenSecrets,
        .redirectedSecrets, .principals, .cancelledSleep, .effects, .contentLengths, .emptyResponses, .declaredWaits,
        .declaredEffects, .shownDeclarations, .deadlines, .declaredTimes,
    ])
}
