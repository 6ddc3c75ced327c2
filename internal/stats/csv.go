package stats

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteCSV writes rows as a table with a line of names. Rates are numbers from 0 to 1, times are seconds; what there is
// not is empty.
func WriteCSV(w io.Writer, rows []*Row) error {
	out := csv.NewWriter(w)
	head := []string{"time", "model", "client", "dialect", "tool"}
	head = append(head, names[:]...)
	for i := range rates {
		head = append(head, "rate_"+rates[i].name)
	}
	for _, t := range timerNames {
		head = append(head, t+"_p50", t+"_p95", t+"_p99")
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, r := range rows {
		if err := out.Write(r.fields()); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func (r *Row) fields() []string {
	at := ""
	if !r.Time.IsZero() {
		at = r.Time.Format(time.RFC3339)
	}
	list := []string{at, safe(r.Model), safe(r.Client), safe(r.Dialect), safe(r.Tool)}
	for _, n := range r.counts {
		list = append(list, strconv.FormatInt(n, 10))
	}
	for i := range rates {
		text := ""
		if v, ok := r.Rate(rates[i].name); ok {
			text = strconv.FormatFloat(v, 'g', 6, 64)
		}
		list = append(list, text)
	}
	for _, h := range r.times {
		for _, q := range [...]float64{0.5, 0.95, 0.99} {
			text := ""
			if h.N() > 0 {
				text = strconv.FormatFloat(h.Quantile(q).Seconds(), 'g', 4, 64)
			}
			list = append(list, text)
		}
	}
	return list
}

// safe keeps a spreadsheet from taking a name, which a client chose, for a formula.
func safe(name string) string {
	if name != "" && strings.ContainsRune("=+-@\t\r", rune(name[0])) && name != Nobody {
		return "'" + name
	}
	return name
}
