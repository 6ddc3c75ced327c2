// Package dialecttest is the kit that checks any decoder of tool calls: one of package dialect, or one of your own that has
// the same two methods.
//
// It knows three kinds of checks, each a function that returns an error and needs no testing framework:
//
//   - Invariance: the events do not depend on how the text was cut into chunks, but for the borders between adjacent deltas.
//   - Conservation: the spans of the events are ordered and disjoint and cover the text, so that no byte is lost; what is shown as text or
//     as reasoning is exactly what stands there.
//   - Structure: every call is opened once and closed once, before the next one opens; its deltas, joined, are its arguments.
//
// All runs the three of them. A Case says besides what must come out of one text; cases are JSON lines, so that other
// programs can read them too (testdata/README.md beside package dialect describes the format).
//
//	func TestMine(t *testing.T) {
//		cases, err := dialecttest.ReadFile("testdata/mine.jsonl")
//		...
//		dialecttest.Run(t, cases)
//	}
//
// Words: a split is a way to cut a text into chunks, given by the offsets of the cuts. The whole text fed at once is the
// yardstick of all other splits.
package dialecttest
