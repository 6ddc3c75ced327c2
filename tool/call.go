package tool

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"wield/chat"
	"wield/tool/internal/host"
	"wield/tool/internal/value"
	"wield/tool/policy"
)

// A Call is a call as its handler sees it: checked, allowed, with everything it may use.
type Call struct {
	chat.Call            // Arguments fit the schema
	Tool      *Tool      // that is called
	Guard     *Guard     // that was checked; nil: none
	Limits    CallLimits // that apply
	Attempt   int        // from 1
	Asks      bool       // a person can be asked, by failing with an InputError
	Reply     *Reply     // to the Form that the handler failed with before; nil: it did not
	Detached  string     // the name that Detach noted in an earlier process; empty: none

	Root string   // the workspace; empty: there is none
	Dir  string   // working directory, within the workspace
	Temp string   // private temporary directory; empty: there is none
	Env  []string // variables for processes beyond those of the runner, as NAME=VALUE

	Scope Scope // on whose behalf it runs

	host host.Host // what the runner lends it
}

// Host returns what the runner lends the call, for runners. A handler has the methods of the call.
func (c *Call) Host() *host.Host { return &c.host }

// May reports whether the policy allows an operation on a path of the workspace without asking anybody. A tool that
// finds files by itself, such as a search, leaves out those that it may not read: the call was allowed for a
// directory, and not for all that a rule protects in it.
func (c *Call) May(op policy.Op, path string) bool {
	if c.host.Policy == nil {
		return true
	}
	use := policy.Action{Tool: c.Name, Root: c.Root, Dir: c.Root, Paths: []policy.PathUse{{Path: path, Op: op}}}
	return c.host.Policy.Decide(use).Decision == chat.DecisionAllow
}

// maxKey limits the length of an idempotency key.
const maxKey = 255

// Key returns the idempotency key of the call, which can be a value of a header: it is the same when the call is tried
// again, here or in another process. It is empty for a call of no run.
func (c *Call) Key() string {
	key := c.Scope.Key
	if key == "" && c.Scope.Run != "" {
		key = c.Scope.Run + "/" + c.ID
	}
	odd := func(r rune) bool { return r <= ' ' || r > '~' } // a model may write any id
	if len(key) > maxKey || strings.ContainsFunc(key, odd) {
		return fmt.Sprintf("%x", sha256.Sum256([]byte(key)))
	}
	return key
}

// Variables returns what tells a program about the call, as NAME=VALUE: its idempotency key, the fence of its run, and
// its deadline.
func (c *Call) Variables(ctx context.Context) (list []string) {
	if key := c.Key(); key != "" {
		list = append(list, "WIELD_CALL_KEY="+key)
	}
	if c.Scope.Fence > 0 {
		list = append(list, fmt.Sprint("WIELD_CALL_FENCE=", c.Scope.Fence))
	}
	if t, ok := ctx.Deadline(); ok {
		list = append(list, "WIELD_CALL_DEADLINE="+t.UTC().Format(time.RFC3339Nano))
	}
	return list
}

// Detach notes under which name the call goes on elsewhere, so that it can be asked for there if this process ends.
// When it returns nil, the note outlives the process, if calls are recorded.
func (c *Call) Detach(ctx context.Context, name string) error {
	if c.host.Records == nil || c.Detached == name {
		return nil
	}
	return c.host.Records.Detach(ctx, c.ID, name)
}

// Client returns an HTTP client that goes where the policy lets the call go: every address that a name stands for and
// every redirect is looked at when a connection is made. Addresses in the arguments and the sites of the tool have
// been decided about with the call. Without a policy it goes to the public network.
func (c *Call) Client() *http.Client {
	var approved, sites []string
	var args map[string]json.RawMessage
	if c.Tool != nil && json.Unmarshal([]byte(c.Arguments), &args) == nil {
		for _, name := range c.Tool.Facts.URLs {
			approved = append(approved, value.Texts(value.Argument(args, name))...)
		}
	}
	if c.Tool != nil {
		sites = c.Tool.Facts.Sites
	}
	out := c.host.Policy
	if out == nil {
		open, err := policy.New(policy.Definition{Name: "none", Default: chat.DecisionAllow})
		if err != nil {
			panic(err) // it has no rules that could be wrong
		}
		out = open
	}
	return out.Egress(c.Name, policy.EgressOptions{Approved: approved, Sites: sites}).Client()
}

// Output returns a writer of the output of a running tool, which is shown while it runs. It is no part of the result.
// stream is stdout, stderr, or a word of the tool. The writer never fails; what is written after the run is over is
// dropped.
func (c *Call) Output(stream string) io.Writer { return outputWriter{c, stream} }

// Progress tells how far the run is: done of total, in any unit, with a few words.
func (c *Call) Progress(done, total float64, text string) {
	c.tell("", text, done, total)
}

// Told shows a person what was found out about processes of the call.
func (c *Call) Told(text string) {
	if text != "" {
		c.tell("wield", text, 0, 0)
	}
}

func (c *Call) tell(stream, text string, done, total float64) {
	if c.host.Tell != nil {
		c.host.Tell(stream, text, done, total)
	}
}

type outputWriter struct {
	call   *Call
	stream string
}

func (w outputWriter) Write(p []byte) (int, error) {
	if len(p) > 0 {
		w.call.tell(w.stream, string(p), 0, 0)
	}
	return len(p), nil
}
