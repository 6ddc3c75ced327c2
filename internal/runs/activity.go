package runs

// Activity says what clients of a model see of the calls that wield runs for it.
type Activity string

// What clients see.
const (
	ActivityHidden    Activity = "hidden"    // nothing
	ActivityReasoning Activity = "reasoning" // lines of the model's reasoning
	ActivityItems     Activity = "items"     // items of their own, where the protocol has a place for them
)

// Collisions says whose tool counts when both the client and the server have one of the same name.
type Collisions string

// Whose tool counts.
const (
	CollisionsError  Collisions = "error" // the request is refused
	CollisionsClient Collisions = "client"
	CollisionsServer Collisions = "server"
)
