package dialect

import "wield/chat"

// AppendResults appends results as one message's text in the form that models of d expect. Whatever the results hold, no
// dialect reads a call in the text, and [Results] reads them back.
func (d *Dialect) AppendResults(dst []byte, results []chat.Result) []byte { return dst }

// Results reads back, in order, all results that stand in text, which may hold other text too.
func Results(text string) []chat.Result { return nil }
