package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"wield/internal/shorten"
	"wield/internal/stats"
)

// Stats show the usage of models and tools in a period.
type Stats struct {
	From  *time.Time     `json:"from,omitempty"`
	To    *time.Time     `json:"to,omitempty"`
	Items []stats.Report `json:"items"`
	Rates []Meaning      `json:"rates" jsonschema:"what the rates mean"`
}

// A Meaning says what a number is.
type Meaning struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

const mediaCSV = "text/csv"

// statsRoutes are the routes of statistics.
func statsRoutes() []route {
	query := []param{
		{name: "since", doc: "how far to look back, such as 24h, 7d or 4w; 7d if neither this nor from is given"},
		{name: "from", doc: "the beginning, as a time of RFC 3339"},
		{name: "to", doc: "the end, as a time of RFC 3339; now if it is left out"},
		{name: "by",
			doc: "one row for each value of these: of model, client, dialect and tool, with commas between them"},
		{name: "step", doc: "one row for each so long time, in whole hours, such as 1h or 7d"},
		{name: "model", doc: "of this model alone"}, {name: "client", doc: "of this client alone"},
		{name: "dialect", doc: "of this dialect alone"}, {name: "tool", doc: "of this tool alone"},
	}
	return []route{
		{method: http.MethodGet, path: "/stats/overview", name: "overviewStats",
			doc:   "The same by each of model, client, dialect and tool, and over time, at once.",
			may:   asking,
			query: slices.DeleteFunc(slices.Clone(query), func(p param) bool { return p.name == "by" }),
			out:   of(StatsOverview{}), serve: (*exchange).overviewStats},
		{method: http.MethodGet, path: "/stats", name: "showStats",
			doc: "Count what models and tools did. Clients see what was done for them.",
			may: asking, query: query, out: of(Stats{}),
			serve: (*exchange).showStats},
		{method: http.MethodGet, path: "/stats/export", name: "exportStats",
			doc: "The same as a table for spreadsheets.", may: asking, query: query, media: mediaCSV,
			write: (*exchange).exportStats},
	}
}

// showStats answers GET /stats.
func (x *exchange) showStats() (any, error) {
	q, err := x.statsQuery()
	if err != nil {
		return nil, err
	}
	rows, err := x.s.o.Stats.Query(x.r.Context(), q)
	if err != nil {
		return nil, err
	}
	out := &Stats{Items: reports(rows), Rates: meaningsOfRates()}
	out.From, out.To = span(&q)
	return out, nil
}

// A StatsOverview sums up the usage. The page shows it first.
type StatsOverview struct {
	From     *time.Time     `json:"from,omitempty"`
	To       time.Time      `json:"to" jsonschema:"the end that was asked for, or now as the service has it"`
	All      []stats.Report `json:"all" jsonschema:"one row, or none if nothing was counted"`
	Steps    []stats.Report `json:"steps" jsonschema:"one row for each step of time in which something was counted"`
	Step     float64        `json:"step" jsonschema:"of time, in seconds"`
	Models   []stats.Report `json:"models"`
	Clients  []stats.Report `json:"clients"`
	Dialects []stats.Report `json:"dialects" jsonschema:"by model and dialect"`
	Tools    []stats.Report `json:"tools"`
	Rates    []Meaning      `json:"rates" jsonschema:"what the rates mean"`
}

// overviewStats answers GET /stats/overview.
func (x *exchange) overviewStats() (any, error) {
	q, err := x.statsQuery()
	if err != nil {
		return nil, err
	}
	to := q.To
	if to.IsZero() {
		to = x.s.o.Stats.Now().UTC()
	}
	step := q.Step
	if step == 0 {
		step = stepFor(q.From, to)
	}
	q.Step = 0
	list := []stats.Query{q, q, q, q, q, q}
	list[1].Step = step
	list[2].By, list[3].By, list[5].By = []stats.Dim{stats.ByModel}, []stats.Dim{stats.ByClient},
		[]stats.Dim{stats.ByTool}
	list[4].By = []stats.Dim{stats.ByModel, stats.ByDialect}
	rows, err := x.s.o.Stats.Queries(x.r.Context(), list...)
	if err != nil {
		return nil, err
	}
	out := &StatsOverview{To: to, Step: step.Seconds(), Rates: meaningsOfRates()}
	out.From, _ = span(&q)
	for i, to := range []*[]stats.Report{&out.All, &out.Steps, &out.Models, &out.Clients, &out.Dialects, &out.Tools} {
		*to = reports(rows[i])
	}
	return out, nil
}

// stepFor returns the step of a picture of a time: some dozens of steps.
func stepFor(from, to time.Time) time.Duration {
	const hour, day = time.Hour, 24 * time.Hour
	for _, step := range []time.Duration{hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day} {
		if to.Sub(from) <= 45*step+hour {
			return step
		}
	}
	return 28 * day
}

func reports(rows []*stats.Row) []stats.Report {
	list := make([]stats.Report, len(rows))
	for i, r := range rows {
		list[i] = r.Report()
	}
	return list
}

// span returns the bounds of a question that it has.
func span(q *stats.Query) (from, to *time.Time) {
	if !q.From.IsZero() {
		from = &q.From
	}
	if !q.To.IsZero() {
		to = &q.To
	}
	return from, to
}

func meaningsOfRates() []Meaning {
	var list []Meaning
	for _, m := range stats.RateNames() {
		list = append(list, Meaning(m))
	}
	return list
}

// exportStats answers GET /stats/export.
func (x *exchange) exportStats() error {
	q, err := x.statsQuery()
	if err != nil {
		return err
	}
	rows, err := x.s.o.Stats.Query(x.r.Context(), q)
	if err != nil {
		return err
	}
	x.w.Header().Set("Content-Type", mediaCSV+"; charset=utf-8")
	x.w.Header().Set("Content-Disposition", `attachment; filename="wield-stats.csv"`)
	x.begun = true
	x.deadline()
	return stats.WriteCSV(x.w, rows)
}

// statsQuery reads what is asked for.
func (x *exchange) statsQuery() (stats.Query, error) {
	q := stats.Query{Only: stats.Dims{Model: x.query("model"), Client: x.query("client"), Dialect: x.query("dialect"),
		Tool: x.query("tool")}}
	if x.caller.Role != RoleAdmin {
		q.Only.Client = x.caller.Name
	}
	for _, name := range strings.FieldsFunc(x.query("by"), func(r rune) bool { return r == ',' }) {
		q.By = append(q.By, stats.Dim(name))
	}
	for _, p := range []struct {
		name string
		to   *time.Time
	}{{"from", &q.From}, {"to", &q.To}} {
		text := x.query(p.name)
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return q, invalid(p.name, "%s is no time", shorten.Quoted(text)).with("write it as 2026-03-04T12:00:00Z")
		}
		*p.to = t.UTC()
	}
	since := x.query("since")
	if since == "" && q.From.IsZero() {
		since = "7d"
	}
	if since != "" {
		d, err := stats.ParseSince(since)
		if err != nil {
			return q, badQuery("since", err)
		}
		q.From = x.s.o.Stats.Now().Add(-d).UTC()
	}
	if text := x.query("step"); text != "" {
		d, err := stats.ParseSince(text)
		if err != nil {
			return q, badQuery("step", err)
		}
		q.Step = d
	}
	if err := q.Check(); err != nil {
		return q, badQuery("", err)
	}
	return q, nil
}

// badQuery says what is wrong with a question; field may be empty.
func badQuery(field string, err error) error {
	return invalid(field, "%s", strings.TrimPrefix(err.Error(), stats.ErrQuery.Error()+": "))
}
