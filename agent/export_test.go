package agent

// What decides the next step of a run, for tests of its rules.
type (
	State = state
	Step  = step
)

var NewState = newState

const TextOverLimit = textOverLimit
