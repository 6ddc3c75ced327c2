package eval

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// columns are the categories of call rows in the order of the table.
var columns = []struct{ category, title string }{
	{"simple", "simple"},
	{"multiple_function", "multiple"},
	{"parallel_function", "parallel"},
	{"parallel_multiple_function", "par. mult."},
	{"java", "java"},
	{"javascript", "javascript"},
}

// WriteText writes the report as a table for people.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "read/official, % of rows\t")
	for _, c := range columns {
		fmt.Fprintf(t, "%s\t", c.title)
	}
	fmt.Fprint(t, "all\tmatched of gold\tstrict\trecovered\tlost\n")
	for _, model := range slices.Sorted(maps.Keys(r.Models)) {
		r.line(t, model, r.Cells[model], r.Models[model])
	}
	r.line(t, "total", r.Categories, &r.Total)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "gold by\trows\tmatched\tstrict\n")
	for _, name := range slices.Sorted(maps.Keys(r.GoldBy)) {
		g := r.GoldBy[name]
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", name, g.Rows, share(g.Loose, g.Rows), share(g.Strict, g.Rows))
	}
	fmt.Fprint(t, "\nno call wanted\trows\tnone read\tnone official\n")
	for _, name := range slices.Sorted(maps.Keys(r.NoCalls)) {
		n := r.NoCalls[name]
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", name, n.Rows, share(n.None, n.Rows), share(n.Official, n.Rows))
	}
	return t.Flush()
}

func (r *Report) line(w io.Writer, title string, cells map[string]*Cell, all *Cell) {
	fmt.Fprintf(w, "%s\t", title)
	for _, c := range columns {
		fmt.Fprintf(w, "%s\t", accuracy(cells[c.category]))
	}
	fmt.Fprintf(w, "%s\t%d/%d %s\t%s\t%d/%d\t%d\n", accuracy(all), all.GoldLoose, all.Gold,
		share(all.GoldLoose, all.Gold), share(all.GoldStrict, all.Gold), all.Recovered, all.Wrong, all.Lost)
}

func accuracy(c *Cell) string {
	if c == nil || c.Rows == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f/%.1f", percent(c.Loose, c.Rows), percent(c.Official, c.Rows))
}

func share(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", percent(n, of))
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(of) }
