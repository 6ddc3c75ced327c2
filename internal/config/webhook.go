package config

// A Webhook is a service that is told what happens to runs.
type Webhook struct {
	URL    URL      `key:"url" required:"true" doc:"Where events are sent, each as a POST of JSON."`
	Secret Secret   `key:"secret" required:"true" doc:"What signs them, at least 16 bytes, as env:NAME or file:PATH."`
	Events []string `key:"events" enum:"run.started|run.waiting|run.ended|approval.waiting|approval.decided" doc:"Which ones. Empty: all."`
	Answer URL      `key:"answer" doc:"Address by which people reach this service, such as https://wield.example. With it a question comes with a link that lets whoever has it answer that question. Empty: without."`
}
