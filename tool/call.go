package tool

import (
	"io"

	"wield/chat"
	"wield/tool/policy"
)

// A Call is a call as its handler sees it: checked, allowed, with everything it may use.
type Call struct {
	chat.Call        // Arguments fit the schema
	Tool      *Tool  // that is called
	Guard     *Guard // that was checked; nil: none
	Limits    Limits // that apply
	Attempt   int    // from 1

	Root string   // the workspace; empty: there is none
	Dir  string   // working directory, within the workspace
	Temp string   // private temporary directory; empty: there is none
	Env  []string // variables for processes beyond those of the runner, as NAME=VALUE

	box     Box
	emit    func(chat.Event)
	decider Decider
}

// May reports whether the policy allows an operation on a path of the workspace without asking anybody. A tool that finds
// files by itself, such as a search, leaves out those that it may not read: the call was allowed for a directory, and not for
// all that a rule protects in it.
func (c *Call) May(op Op, path string) bool {
	if c.decider == nil {
		return true
	}
	use := policy.Call{Tool: c.Name, Root: c.Root, Dir: c.Root, Paths: []policy.PathUse{{Path: path, Op: op}}}
	return c.decider.Decide(use).Decision == chat.DecisionAllow
}

// MayReach reports whether the policy allows an address of the network without asking anybody: for the redirects of a page,
// and whatever else a call comes by.
func (c *Call) MayReach(url string) bool {
	if c.decider == nil {
		return true
	}
	return c.decider.Decide(policy.Call{Tool: c.Name, Root: c.Root, Dir: c.Root, URLs: []string{url}}).Decision == chat.DecisionAllow
}

// Output returns a writer of the output of a running tool, which is shown while it runs. It is no part of the result. stream
// is stdout, stderr, or a word of the tool. The writer never fails; what is written after the run is over is dropped.
func (c *Call) Output(stream string) io.Writer { return outputWriter{c, stream} }

// Progress tells how far the run is: done of total, in any unit, with a few words.
func (c *Call) Progress(done, total float64, text string) {
	c.progress(&chat.ProgressDetail{CallID: c.ID, Text: text, Done: done, Total: total})
}

func (c *Call) progress(d *chat.ProgressDetail) {
	if c.emit != nil {
		c.emit(chat.Event{Kind: chat.KindProgress, Index: c.Index, ID: c.ID, Name: c.Name, Text: d.Text, Detail: &chat.Detail{Progress: d}})
	}
}

type outputWriter struct {
	call   *Call
	stream string
}

func (w outputWriter) Write(p []byte) (int, error) {
	if len(p) > 0 {
		w.call.progress(&chat.ProgressDetail{CallID: w.call.ID, Stream: w.stream, Text: string(p)})
	}
	return len(p), nil
}
