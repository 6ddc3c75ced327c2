// Package dialecttest is the kit that checks any decoder of tool calls: one of package dialect, or one of your own
// that has the same two methods.
//
// A Suite checks a dialect as a whole and returns what fails as values, so that it needs no testing framework. Each
// Failure names the rule that is broken, the text, and the smallest split that shows it. There are rules for every
// text:
//
//   - split: the events do not depend on how the text was cut into chunks, but for the borders between adjacent deltas.
//   - conservation: the spans of the events are ordered and disjoint and cover the text, so that no byte is lost; what
//     is shown as text or as reasoning is exactly what stands there.
//   - structure: every call is opened once and closed once, before the next one opens; its deltas, joined, are its
//     arguments.
//   - reuse: a decoder that was Reset reads as a fresh one does.
//   - case: what comes out is what a Case wants. Cases are JSON lines, so that other programs can read them too
//     (testdata/README.md beside package dialect describes the format).
//
// And there are rules for a dialect, which are checked with texts that the suite makes:
//
//   - linear: a long text costs what as many bytes in short texts cost, in time and in memory. If the decoder has a
//     method Steps() int, which counts what it did since it was made, this is compared instead of its time.
//   - prose: prose comes out as it is, and takes no allocation.
//   - render: calls that were written are read back with the same names and arguments, whatever stands in these.
//   - results, tools: no result and no definition that is repeated is read as a call.
//
// A test of a dialect is then
//
//	func TestMine(t *testing.T) {
//		cases, err := dialecttest.ReadFile("testdata/mine.jsonl")
//		...
//		suite := dialecttest.Suite{New: newMine, Calls: writeMine}
//		for _, f := range suite.Run(cases) {
//			t.Error(f)
//		}
//	}
//
// All and Quick check a decoder over one text; fuzz targets need no more.
//
// Words: a split is a way to cut a text into chunks, given by the offsets of the cuts. The whole text fed at once is
// the yardstick of all other splits.
package dialecttest
