package eval

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"wield/chat"
	"wield/internal/rate"
)

// A LiveQuestion is one that a model is asked live: a row of the leaderboard's recorded answers without the answer, or
// a row of a file of one's own with the same fields.
type LiveQuestion struct {
	ID       string
	Category string
	Messages []chat.Message
	Tools    []chat.Tool
	Gold     []ComparedCall // nil: no right answer is known

	rows []toolRow
}

// questionRow is a question as it stands in a file.
type questionRow struct {
	ID       string `json:"id"`
	BFCL     string `json:"bfcl_id"`
	Category string `json:"category"`
	Question []struct {
		Role    chat.Role `json:"role"`
		Content string    `json:"content"`
	} `json:"question"`
	Tools []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Gold []ComparedCall `json:"gold"`
}

// A Choice says which questions of a file are asked.
type Choice struct {
	Categories []string // only these; nil: all
	MaxTools   int      // bytes of tools at most; 0: any number
	Limit      int      // questions at most; 0: all
}

// Questions reads the questions of a file, each once: recorded answers of several models repeat them.
func Questions(file string, c Choice) ([]LiveQuestion, error) {
	var list []LiveQuestion
	at := map[string]int{}
	for l, err := range lines(file) {
		if err != nil {
			return nil, err
		}
		var raw struct {
			Tools json.RawMessage `json:"tools"`
		}
		var row questionRow
		if err := errors.Join(json.Unmarshal(l.text, &row), json.Unmarshal(l.text, &raw)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", l.file, l.n, err)
		}
		id := row.BFCL
		if id == "" {
			id = row.ID
		}
		switch {
		case id == "" || len(row.Question) == 0 || len(row.Tools) == 0:
			return nil, fmt.Errorf("%s:%d: a question needs id, question and tools", l.file, l.n)
		case c.Categories != nil && !slices.Contains(c.Categories, row.Category),
			c.MaxTools > 0 && len(raw.Tools) > c.MaxTools:
			continue
		}
		if i, known := at[id]; known {
			if list[i].Gold == nil {
				list[i].Gold = row.Gold
			}
			continue
		}
		at[id] = len(list)
		list = append(list, row.question(id, raw.Tools))
	}
	if c.Limit > 0 && len(list) > c.Limit {
		list = list[:c.Limit]
	}
	return list, nil
}

func (row *questionRow) question(id string, tools json.RawMessage) LiveQuestion {
	q := LiveQuestion{ID: id, Category: row.Category, Gold: row.Gold}
	_ = json.Unmarshal(tools, &q.rows) // it was read before
	for _, m := range row.Question {
		q.Messages = append(q.Messages, chat.Message{Role: m.Role, Parts: chat.Text(m.Content)})
	}
	for i := range row.Tools {
		f := &row.Tools[i].Function
		q.Tools = append(q.Tools, chat.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
	}
	return q
}

// doneParts is how many parts of a task are done before the one that is asked for: small models take up a habit after
// two.
const doneParts = 2

// MidTask returns the questions as a model meets them in the middle of its work: each is the last part of a task, and
// the parts before it, which are the questions before, have been done by their expected calls. It is nil if too few
// have one.
func MidTask(questions []LiveQuestion) []LiveQuestion {
	var known []*LiveQuestion
	for i := range questions {
		if len(questions[i].Gold) > 0 {
			known = append(known, &questions[i])
		}
	}
	if len(known) <= doneParts {
		return nil
	}
	done := known[len(known)-doneParts:]
	list := make([]LiveQuestion, len(questions))
	for i := range questions {
		list[i] = questions[i].behind(done)
		if len(questions[i].Gold) > 0 {
			done = append(done[1:doneParts:doneParts], &questions[i])
		}
	}
	return list
}

// behind returns q as the part of a task behind those that have been done.
func (q *LiveQuestion) behind(done []*LiveQuestion) LiveQuestion {
	out := *q
	var task strings.Builder
	for i, part := range append(slices.Clone(done), q) {
		fmt.Fprintf(&task, "%d. %s\n", i+1, part.Messages[len(part.Messages)-1].Text())
	}
	out.Messages = []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(strings.TrimSuffix(task.String(), "\n"))}}
	out.Tools = slices.Clip(q.Tools)
	for _, part := range done {
		out.Messages = append(out.Messages, part.answered(len(out.Messages))...)
		for _, t := range part.Tools {
			if !slices.ContainsFunc(out.Tools, func(have chat.Tool) bool { return have.Name == t.Name }) {
				out.Tools = append(out.Tools, t)
			}
		}
	}
	return out
}

// answered returns the expected calls and their results. Their ids are numbered from n.
func (q *LiveQuestion) answered(n int) []chat.Message {
	list := []chat.Message{{Role: chat.RoleAssistant}}
	for i, c := range q.Gold {
		call := chat.Call{ID: fmt.Sprintf("call_%d", n+i), Name: c.Name, Arguments: string(c.Arguments), Complete: true}
		result := chat.Result{CallID: call.ID, Name: call.Name, Parts: chat.Text("done")}
		list[0].Calls = append(list[0].Calls, call)
		list = append(list, result.Message())
	}
	return list
}

// LiveOptions say how models are asked.
type LiveOptions struct {
	Required  bool // a call is demanded
	MaxTokens int
	Timeout   time.Duration // for one question
}

// An Asked holds the result of one question.
type Asked struct {
	Way       string         `json:"way"`
	ID        string         `json:"id"`
	Category  string         `json:"category"`
	Calls     []ComparedCall `json:"calls"`
	Refused   int            `json:"refused"` // attempts at a call that could not be used
	Bounces   int            `json:"bounces"`
	Text      string         `json:"text,omitempty"`
	Wanted    bool           `json:"wanted"`     // a call was
	RightTool bool           `json:"right_tool"` // the wanted tools were called, in any order
	RightArgs bool           `json:"right_args"` // with the wanted arguments
	Known     bool           `json:"known"`      // a right answer is known
	// tokens of the prompt, of all attempts; 0: the server did not count them all
	In      int     `json:"in"`
	Out     int     `json:"out"`
	Seconds float64 `json:"seconds"`
	Failed  string  `json:"failed,omitempty"`
}

// Ask puts a question to a model at temperature 0. The result is filed under the model's name.
func Ask(ctx context.Context, m chat.Model, name string, q *LiveQuestion, o LiveOptions) Asked {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	zero := 0.0
	req := &chat.Request{Model: name, Messages: q.Messages, Tools: q.Tools, Temperature: &zero, MaxTokens: o.MaxTokens}
	if o.Required {
		req.Choice.Mode = chat.ChoiceRequired
	}
	a := Asked{Way: name, ID: q.ID, Category: q.Category, Wanted: q.Category != relevance, Calls: []ComparedCall{}}
	start := time.Now()
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			a.Failed = err.Error()
			break
		}
		switch e.Kind {
		case chat.KindText:
			a.Text += e.Text
		case chat.KindCallEnd:
			if c := e.Detail.(*chat.Call); c.Complete {
				a.Calls = append(a.Calls, ComparedCall{c.Name, json.RawMessage(c.Arguments)})
			}
		case chat.KindRejected:
			a.Refused++
		case chat.KindUsage:
			if u := e.Detail.(*chat.Usage); u.Uncounted == 0 {
				a.In, a.Out = u.In, u.Out
			}
		case chat.KindFinish:
			a.Bounces = e.Detail.(*chat.Finish).Bounces
		}
	}
	a.Seconds = time.Since(start).Seconds()
	if a.Known = a.Wanted && len(q.Gold) > 0; a.Known {
		want, got := readCalls(q.Gold), readCalls(a.Calls)
		a.RightTool = sameTools(want, got)
		a.RightArgs = matcher{required: required(q.rows), loose: true}.calls(want, got)
	}
	return a
}

// sameTools reports whether two lists call the same tools, in any order.
func sameTools(want, got []readCall) bool {
	names := func(list []readCall) (names []string) {
		for _, c := range list {
			names = append(names, c.name)
		}
		slices.Sort(names)
		return names
	}
	return slices.Equal(names(want), names(got))
}

// Kept reads results that an earlier run wrote, so that it can be continued: questions that failed are asked again. A
// file that is not there holds none.
func Kept(file string) ([]Asked, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []Asked
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for n := 1; s.Scan(); n++ {
		var a Asked
		if err := json.Unmarshal(s.Bytes(), &a); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		if a.Failed == "" {
			list = append(list, a)
		}
	}
	return list, s.Err()
}

// A Standing sums up what one way achieved.
type Standing struct {
	Way string `json:"way"`
	// of the questions in which a call was tried or asked for again: valid in the first response
	Tried rate.Rate `json:"tried"`
	// of the questions that want a call: one came out, of a tool on offer and with arguments that fit
	Valid     rate.Rate `json:"valid"`
	RightTool rate.Rate `json:"right_tool"`  // of those with a known answer
	RightArgs rate.Rate `json:"right_args"`  // of the same
	False     rate.Rate `json:"false_calls"` // of the questions that want none
	Retried   rate.Rate `json:"retried"`     // answers that were asked for again and then gave a call
	// tokens of the prompts of one question, in the mean of those that were counted
	In      float64 `json:"in"`
	Out     float64 `json:"out"`
	Seconds float64 `json:"seconds"`
	Failed  int     `json:"failed"`

	n, counted int
}

// Stand sums up results, way by way in the order in which they come.
func Stand(results []Asked) []Standing {
	var list []Standing
	for i := range results {
		a := &results[i]
		k := slices.IndexFunc(list, func(s Standing) bool { return s.Way == a.Way })
		if k < 0 {
			k = len(list)
			list = append(list, Standing{Way: a.Way})
		}
		list[k].add(a)
	}
	for i := range list {
		s := &list[i]
		if n := float64(s.n); n > 0 {
			s.Seconds /= n
		}
		if n := float64(s.counted); n > 0 {
			s.In, s.Out = s.In/n, s.Out/n
		}
	}
	return list
}

func (s *Standing) add(a *Asked) {
	if a.Failed != "" {
		s.Failed++
		return
	}
	s.n++
	s.Seconds += a.Seconds
	if a.In > 0 {
		s.counted++
		s.In, s.Out = s.In+float64(a.In), s.Out+float64(a.Out)
	}
	if len(a.Calls)+a.Refused+a.Bounces > 0 {
		s.Tried.Add(len(a.Calls) > 0 && a.Refused+a.Bounces == 0)
	}
	if a.Bounces > 0 {
		s.Retried.Add(len(a.Calls) > 0)
	}
	if !a.Wanted {
		s.False.Add(len(a.Calls) > 0)
		return
	}
	s.Valid.Add(len(a.Calls) > 0)
	if a.Known {
		s.RightTool.Add(a.RightTool)
		s.RightArgs.Add(a.RightArgs)
	}
}

// WriteStandings writes standings as a table for people.
func WriteStandings(w io.Writer, list []Standing) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "in % (95 % bounds)\tvalid\tright tool\tright arguments\tfalse calls\ttried, valid at once\t"+
		"retried, then a call\ttokens in\tout\tseconds\tfailed\n")
	for _, s := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t%.1f\t%d\n", s.Way, s.Valid, s.RightTool, s.RightArgs,
			s.False, s.Tried, s.Retried, s.In, s.Out, s.Seconds, s.Failed)
	}
	return t.Flush()
}
