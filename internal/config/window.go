package config

// AgentContext says what a model is sent of a long conversation.
type AgentContext struct {
	Tokens   int    `key:"tokens" min:"0" doc:"Size of the context; 0: unknown, send everything until the backend refuses."`
	Reserve  int    `key:"reserve" min:"0" doc:"Tokens reserved for the response; 0: a quarter, at most 8192."`
	Strategy string `key:"strategy" enum:"leave_out|summarize" doc:"What happens to the oldest turns."`
}

// The strategies.
const (
	contextLeaveOut  = "leave_out"
	ContextSummarize = "summarize"
)

func (c *AgentContext) check(d *decoder, path string) {
	if c.Tokens > 0 && c.Reserve >= c.Tokens {
		d.at(path+".reserve", "%d tokens are to be kept free of a context of %d: nothing would be left", c.Reserve,
			c.Tokens)
	}
}
