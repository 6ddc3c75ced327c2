package config

// AgentContext says what a model is sent of a long conversation.
type AgentContext struct {
	Tokens   int    `key:"tokens" min:"0" doc:"What the model's context holds; 0: it is not known, and all is sent until the server says that it is too long."`
	Reserve  int    `key:"reserve" min:"0" doc:"Tokens of it that are kept free for the answer; 0: a quarter, and at most 8192."`
	Strategy string `key:"strategy" enum:"leave_out|summarize" doc:"What becomes of the oldest turns when results that became notes are not enough: they are left out, or the model writes a summary of them."`
}

// The strategies.
const (
	contextLeaveOut  = "leave_out"
	ContextSummarize = "summarize"
)

func (c *AgentContext) check(d *decoder, path string) {
	if c.Tokens > 0 && c.Reserve >= c.Tokens {
		d.at(path+".reserve", "%d tokens are to be kept free of a context of %d: nothing would be left", c.Reserve, c.Tokens)
	}
}
