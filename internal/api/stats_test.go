package api

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/stats"
	"wield/journal"
)

// A caller is a model that answers with one call.
type oneCall struct{ tool string }

func (m oneCall) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		c := &chat.Call{ID: "1", Name: m.tool, Arguments: "{}", Complete: true, Dialect: "hermes"}
		_ = yield(chat.Event{Kind: chat.KindCallStart, Name: m.tool}, nil) &&
			yield(chat.Event{Kind: chat.KindCallEnd, Name: m.tool, Detail: c}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishCalls}}, nil)
	}
}

func TestStats(t *testing.T) {
	counts := stats.New(t.TempDir(), stats.Options{})
	for _, who := range []string{"cleo", "cleo", "otto"} {
		for _, name := range []string{"look", "=cmd()"} {
			for range counts.Model("home", agent.Prices{}, oneCall{name}).Stream(t.Context(),
				&chat.Request{Caller: who}) {
			}
		}
	}
	o := options(&journal.Memory{})
	o.Stats = counts
	s := serve(t, o)
	read := func(path, key string) Stats {
		t.Helper()
		status, body := s.do("GET", path, key, "")
		var got Stats
		if err := json.Unmarshal(body, &got); status != 200 || err != nil {
			t.Fatalf("%s: %d %s, %v", path, status, body, err)
		}
		return got
	}
	all := read("/stats?by=tool,client,model,dialect", "k-admin")
	if len(all.Items) != 4 || all.From == nil || len(all.Rates) == 0 {
		t.Fatalf("%+v", all)
	}
	for _, r := range all.Items {
		want := map[string]int64{"cleo": 2, "otto": 1}[r.Client]
		if r.Counts["calls"] != want || r.Rates["first_try"] != 1 || r.Dialect != "hermes" || r.Model != "home" {
			t.Errorf("%+v", r)
		}
	}
	if own := read("/stats?client=otto", "k-client"); len(own.Items) != 1 || own.Items[0].Counts["calls"] != 4 {
		t.Errorf("a client that asks for another one's numbers gets %+v", own.Items)
	}
	hours := read("/stats?step=1h&since=3h&tool=look", "k-admin")
	if len(hours.Items) == 0 || hours.Items[0].Time == nil || hours.Items[0].Time.Minute() != 0 ||
		hours.Items[0].Times["run"].N != 0 {
		t.Errorf("%+v", hours.Items)
	}
	then := time.Now().Add(-48 * time.Hour).UTC().Format(time.RFC3339)
	if old := read("/stats?from=2026-01-01T00:00:00Z&to="+then, "k-admin"); len(old.Items) != 0 || old.To == nil {
		t.Errorf("%+v", old)
	}
	for query, field := range map[string]string{"by=day": "", "step=90s": "", "since=soon": "since",
		"from=noon": "from", "from=2026-03-05T00:00:00Z&to=2026-03-04T00:00:00Z": "", "step=x": "step"} {
		if f := s.refused("GET", "/stats?"+query, "k-admin", "", 400); f.Error.Field != field {
			t.Errorf("%s: the field is %q", query, f.Error.Field)
		}
		s.refused("GET", "/stats/export?"+query, "k-admin", "", 400)
		if !strings.HasPrefix(query, "by=") {
			s.refused("GET", "/stats/overview?"+query, "k-admin", "", 400)
		}
	}
	s.refused("GET", "/stats", "k-approver", "", 403)

	status, body := s.do("GET", "/stats/overview?since=30d", "k-client", "")
	var seen StatsOverview
	if err := json.Unmarshal(body, &seen); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	if len(seen.All) != 1 || len(seen.Steps) == 0 || seen.Step != 24*3600 || len(seen.Models) != 1 ||
		len(seen.Clients) != 1 || len(seen.Dialects) != 1 || len(seen.Tools) != 2 {
		t.Errorf("%s", body)
	}
	status, body = s.do("GET", "/stats/export?by=tool", "k-admin", "")
	table, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
	if status != 200 || err != nil || len(table) != 3 || table[0][4] != "tool" || table[1][4] != "'=cmd()" ||
		table[2][4] != "look" {
		t.Errorf("%d, %v, %q", status, err, table)
	}
}
