package dialect

import "slices"

// TakeOut takes a row out of the table. What it returns adds the row again, as the last one.
func TakeOut(name string) (add func()) {
	autoEnabled() // what is built once is built with all rows
	autoAutomaton()
	plainAutomaton()
	i := slices.IndexFunc(table, func(d Dialect) bool { return d.Name == name })
	row := table[i]
	table = slices.Delete(slices.Clone(table), i, i+1)
	return func() { table = append(table, row) }
}

// Steps makes a Decoder one that the kit counts the work of.
func (d *Decoder) Steps() int { return d.steps }
