package config

// A Webhook is a service that is told what happens to runs.
type Webhook struct {
	URL    URL      `key:"url" required:"true" doc:"Receiver of the events."`
	Secret Secret   `key:"secret" required:"true" doc:"Signing secret of at least 16 bytes, as env:NAME or file:PATH."`
	Events []string `key:"events" enum:"run.started|run.waiting|run.ended|approval.waiting|approval.decided" doc:"Events to send. Empty: all."`
	Answer URL      `key:"answer" doc:"Public address of this service, for approval links. Anyone with a link can decide."`
}
