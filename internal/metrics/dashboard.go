package metrics

import _ "embed" // the dashboard

//go:embed dashboard.json
var dashboard string

// Dashboard returns a dashboard of these numbers for Grafana, as JSON to import there.
func Dashboard() string { return dashboard }
