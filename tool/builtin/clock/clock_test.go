package clock

import (
	"testing"
	"time"
	_ "time/tzdata" // the machine may have no time zones

	"wield/tool"
	"wield/tool/runner"
)

func TestClock(t *testing.T) {
	var reg runner.Registry
	c := Clock{Now: func() time.Time { return time.Date(2027, 1, 1, 23, 30, 0, 0, time.UTC) }}
	if err := reg.Add(c.Tools()...); err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: &reg})
	for _, test := range []struct{ name, args, want string }{
		{"get_current_time", `{}`, `{"success":true,"time":"2027-01-01T23:30:00Z","timezone":"UTC","unix":1798846200}`},
		{"get_current_time", `{"timezone":"Asia/Tokyo"}`,
			`{"success":true,"time":"2027-01-02T08:30:00+09:00","timezone":"Asia/Tokyo","unix":1798846200}`},
		{"get_current_date", `{}`,
			`{"success":true,"date":"2027-01-01","weekday":"Friday","week":53,"timezone":"UTC"}`},
		{"get_current_date", `{"timezone":"Asia/Tokyo"}`,
			`{"success":true,"date":"2027-01-02","weekday":"Saturday","week":53,"timezone":"Asia/Tokyo"}`},
		{"get_current_date", `{"timezone":"../../etc/passwd"}`,
			`{"success":false,"error":"There is no time zone \"../../etc/passwd\"; write one like Europe/Oslo or UTC","error_type":"InvalidArgumentsError"}`},
		{"get_current_date", `{"zone":"UTC"}`,
			`{"success":false,"error":"Invalid arguments: /zone: unknown property; want only timezone","error_type":"InvalidArgumentsError"}`},
	} {
		result, err := r.Call(t.Context(), test.name, test.args)
		if got := string(result.Append(nil, tool.StyleLLF)); err != nil || got != test.want {
			t.Errorf("%s %s: %s, %v\nwant %s", test.name, test.args, got, err, test.want)
		}
	}
}
