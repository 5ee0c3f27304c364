import HTTPTypes

/// The decision about the outcome of an attempt, with all that it depends on.
extension RetryingConnection {
    /// Decides about an outcome and carries out the decision, except for the wait.
    ///
    /// A response that is not returned is consumed here: its transfer must end before the wait.
    func verdict(
        on outcome: consuming Result<Response, any Error>, to request: Request, tally: inout RetryTally
    ) async throws -> RetryVerdict {
        switch consume outcome {
        case .failure(let error):
            let attempt = RetryAttempt(
                request: request.head, options: request.options, result: .failure(error), retries: tally.state.retries)
            tally.note(endOn: clock, after: (error as? TransportError)?.elapsed)
            let known = tally.end(with: error)
            switch step(after: attempt, tally) {
            case .finish: throw known
            case .giveUp(let refusal): throw TransportError.refusedRetry(known, because: refusal)
            case .retry(let instant, let wait, let isFree):
                // A sender that was cancelled has a successor, whose waiting callers learn nothing from this attempt.
                try Task.checkCancellation()
                let number = tally.add(
                    attempts: (error as? TransportError)?.attempts ?? 1, attempt.words, thenWaiting: wait,
                    isFree: isFree, upTo: attempt.policy(or: policy).retries)
                request.options.waitingCallers?.willRetry(at: instant, after: known, attempts: tally.attempts)
                return .retry(instant, number)
            }
        case .success(let response):
            let attempt = RetryAttempt(
                request: request.head, options: request.options, result: .success(response.head),
                retries: tally.state.retries)
            tally.note(endOn: clock, after: response.metadata.timings?.firstByte)
            switch step(after: attempt, tally) {
            case .finish:
                let budget = attempt.policy(or: policy).budget
                noteAnswer(to: request.head, in: budget, isNewCall: tally.isNewCall)
                return .answer(tally.end(with: response))
            case .giveUp(let refusal):
                return .answer(tally.end(with: response).refusedRetry(because: refusal))
            case .retry(let instant, let wait, let isFree):
                try Task.checkCancellation()
                let number = tally.add(
                    attempts: response.metadata.attempts, attempt.words, thenWaiting: wait, isFree: isFree,
                    upTo: attempt.policy(or: policy).retries)
                request.options.waitingCallers?.willRetry(at: instant, after: nil, attempts: tally.attempts)
                try await response.body.discard(until: request.options.lastDeadline, on: clock)
                return .retry(instant, number)
            }
        }
    }

    /// Decides about an attempt, asks the deadline and the budget, and tells the decision.
    private func step(after attempt: RetryAttempt, _ tally: RetryTally) -> RetryStep {
        let policy = attempt.policy(or: policy)
        let context = attempt.options.callContext
        let now = clock.now
        var wait = Duration.zero
        switch policy.decision(about: attempt, after: tally.state, at: clock.date, now: now) {
        case .finish:
            return .finish
        case .giveUp(let refusal):
            context?.note(attempt.decisionToGiveUp(refusal))
            return .giveUp(refusal)
        case .sendAgain:
            guard attempt.options.deadline.map({ now >= $0 }) == true else {
                context?.note(attempt.decisionToWait(.zero))
                return .retry(nil, wait: .zero, isFree: true)
            }
        case .wait(let range):
            wait = range.random(using: generator)
        }
        let refusal =
            attempt.options.lastDeadline.map { now + wait >= $0 } == true
            ? .deadline : refusal(of: policy.budget, to: attempt, tally, at: now)
        if let refusal {
            context?.note(attempt.decisionToGiveUp(refusal))
            return .giveUp(refusal)
        }
        context?.note(attempt.decisionToWait(wait))
        return .retry(now + wait, wait: wait, isFree: false)
    }

    private func refusal(
        of budget: RetryBudget, to attempt: RetryAttempt, _ tally: RetryTally, at now: ContinuousClock.Instant
    ) -> RetryRefusal? {
        if case .perCall(let retries) = budget.kind {
            return attempt.retries < retries ? nil : .callBudgetUsed(max(0, retries))
        }
        return accounts(of: budget)?.take(
            for: attempt.request, at: now, isNewCall: tally.isNewCall, mayBeWorking: attempt.mayBeWorking)
    }

    func noteAnswer(to request: borrowing HTTPRequest, in budget: RetryBudget, isNewCall: Bool) {
        accounts(of: budget)?.noteAnswer(to: request, at: clock.now, isNewCall: isNewCall)
    }

    func accounts(of budget: RetryBudget) -> RetryAccounts? {
        switch budget.kind {
        case .process: accounts
        case .accounts(let accounts): accounts
        case .perCall, .unlimited: nil
        }
    }
}
