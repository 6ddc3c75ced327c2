package tune

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"wield/bridge"
	"wield/internal/rate"
)

// A Rate counts how often something was so.
type Rate = rate.Rate

// A Row sums up the trials of one candidate.
type Row struct {
	Candidate Candidate     `json:"candidate"`
	FirstTry  Rate          `json:"first_try"`
	Valid     Rate          `json:"valid"`
	RightTool Rate          `json:"right_tool"`
	RightArgs Rate          `json:"right_args"`
	Tokens    int           `json:"tokens"`         // of a trial, in the median; 0: the server did not say
	Latency   time.Duration `json:"latency_ns"`     // of a trial, in the median
	Failed    int           `json:"failed"`         // trials without an answer
	Why       string        `json:"why,omitempty"`  // of the first of them
	Lost      []string      `json:"lost,omitempty"` // the probes that did not always come out right

	called  bool // a trial that wanted calls was right
	tried   bool // a call was made or attempted
	right   []bool
	tokens  []int
	latency []time.Duration
}

// A Report is the result of all trials.
type Report struct {
	Model string `json:"model"`
	Rows  []Row  `json:"rows"` // in the order of the trials
	Best  int    `json:"best"` // index of the row that is recommended
	Tie   bool   `json:"tie"`  // whether the trials cannot tell the best from another that calls: see [rate.Apart]
}

// Summarise makes a report of trials.
//
// The best candidate is the one of which most can be said for certain: whose rate of right arguments has the highest
// lower bound. Among equals function calling comes first, then who takes fewer tokens, then the order of the trials.
func Summarise(model string, trials []Trial) *Report {
	r := &Report{Model: model}
	for i := range trials {
		r.add(&trials[i])
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Tokens, row.Latency = median(row.tokens), median(row.latency)
		if i > 0 && better(row, &r.Rows[r.Best]) {
			r.Best = i
		}
	}
	for i := range r.Rows {
		row, best := &r.Rows[i], &r.Rows[r.Best]
		alike := row.answers() && row.Candidate.Required == best.Candidate.Required
		r.Tie = r.Tie || i != r.Best && alike && !rate.Apart(row.against(best))
	}
	return r
}

func (r *Report) add(t *Trial) {
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Candidate == t.Candidate })
	if i < 0 {
		i = len(r.Rows)
		r.Rows = append(r.Rows, Row{Candidate: t.Candidate})
	}
	r.Rows[i].add(t)
}

func (row *Row) add(t *Trial) {
	row.FirstTry.Add(t.FirstTry)
	row.Valid.Add(t.Valid)
	row.RightTool.Add(t.RightTool)
	row.RightArgs.Add(t.RightArgs)
	row.right = append(row.right, t.RightArgs)
	row.tried = row.tried || t.Tried
	row.called = row.called || t.RightArgs && t.Wanted > 0
	if t.Failed != "" {
		row.Failed++
		row.Why = cmp.Or(row.Why, t.Failed)
	} else {
		row.latency = append(row.latency, t.Latency)
		if t.Tokens > 0 {
			row.tokens = append(row.tokens, t.Tokens)
		}
	}
	if !t.RightArgs && !slices.Contains(row.Lost, t.Probe) {
		row.Lost = append(row.Lost, t.Probe)
	}
}

func better(a, b *Row) bool {
	if a.called != b.called {
		return a.called
	}
	x, _ := a.RightArgs.Interval()
	y, _ := b.RightArgs.Interval()
	if x != y {
		return x > y
	}
	if native := a.Candidate.Mode == bridge.ModeNative; native != (b.Candidate.Mode == bridge.ModeNative) {
		return native
	}
	return a.Tokens > 0 && b.Tokens > 0 && a.Tokens < b.Tokens // 0 is not known
}

func median[T cmp.Ordered](list []T) (m T) {
	if len(list) > 0 {
		slices.Sort(list)
		m = list[len(list)/2]
	}
	return m
}

// Useful reports whether the recommended candidate calls tools at all.
func (r *Report) Useful() bool { return len(r.Rows) > 0 && r.Rows[r.Best].called }

// Settings returns the keys of the model's configuration that the report recommends, in order.
func (r *Report) Settings() [][2]string {
	c := r.Rows[r.Best].Candidate
	if c.Mode != bridge.ModeText || c.Dialect == "" {
		return [][2]string{{"mode", string(c.Mode)}}
	}
	return [][2]string{{"mode", "text"}, {"dialect", c.Dialect}}
}

// Patch returns the same as a piece of a configuration file.
func (r *Report) Patch() string {
	var b strings.Builder
	fmt.Fprintf(&b, "models:\n  %s:\n", yamlKey(r.Model))
	for _, s := range r.Settings() {
		fmt.Fprintf(&b, "    %s: %s\n", s[0], s[1])
	}
	return b.String()
}

// yamlKey quotes a name where YAML needs it.
func yamlKey(s string) string {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' && i > 0 || strings.IndexByte("-_./", c) >= 0 &&
			i > 0) {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}

// WriteText writes the report as a table for people.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t,
		"% of trials (95 %)\tat first try\trepaired\tright tool\tright arguments\ttokens\tlatency\terrors in\n")
	for i := range r.Rows {
		row := &r.Rows[i]
		mark := ""
		if i == r.Best && r.Useful() {
			mark = " *"
		}
		tokens := "-"
		if row.Tokens > 0 {
			tokens = fmt.Sprint(row.Tokens)
		}
		fmt.Fprintf(t, "%s%s\t%s\t%s\t%s\t%s\t%s\t%v\t%s\n", row.Candidate, mark, row.FirstTry, row.Valid,
			row.RightTool, row.RightArgs, tokens, row.Latency.Round(time.Millisecond), strings.Join(row.Lost, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Failed > 0 {
			fmt.Fprintf(w, "%s: %d of %d requests failed, the first with: %s\n", row.Candidate, row.Failed,
				row.RightArgs.Of, row.Why)
		}
	}
	return nil
}
