package dialect

import "slices"

// TakeOut takes a row out of the table. What it returns adds the row again, as the last one.
func TakeOut(name string) (add func()) {
	autoEnabled() // what is built once is built with all rows
	_, _ = autoRules()
	_, _ = plainRules()
	i := slices.IndexFunc(table, func(d Dialect) bool { return d.Name == name })
	row := table[i]
	table = slices.Delete(slices.Clone(table), i, i+1)
	return func() { table = append(table, row) }
}

// Steps makes a Decoder one that the kit counts the work of.
func (d *Decoder) Steps() int { return d.text.steps }

// A TurnPair marks an invented turn: the header or the line of another party, and that of
// the model behind it.
type TurnPair struct {
	Template, Other, Own string
	Hard, Line           bool
}

// TurnPairs returns those of all templates and styles of lines.
func TurnPairs() (list []TurnPair) {
	for _, t := range templates {
		own := ""
		if len(t.own) > 0 {
			own = t.open + t.own[0] + t.close
		}
		for _, party := range t.others {
			list = append(list, TurnPair{t.name, t.open + party + t.close, own, true, t.line})
		}
	}
	for _, s := range roleStyles {
		for k, word := range s.others {
			if slices.Contains(aloneLines, s.before+word+s.after) {
				continue
			}
			replies := append(slices.Clip(s.own), s.direct...)
			own := replies[k%len(replies)]
			list = append(list, TurnPair{"lines " + s.before + s.after, s.before + word + s.after,
				s.before + own + s.after, false, true})
		}
	}
	for _, line := range aloneLines {
		list = append(list, TurnPair{"alone", line, "", false, true})
	}
	return list
}

// ResultMarks returns what begins a tool's result.
func ResultMarks() []string {
	list := resultMarks
	for _, o := range commonOpeners {
		if o.use == useVerbatim {
			list = append(list, o.literal)
		}
	}
	return list
}
