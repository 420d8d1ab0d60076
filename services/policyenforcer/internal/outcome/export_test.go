package outcome

// StartWithin is the time within which an allowed line may be started.
const StartWithin = startWithin
