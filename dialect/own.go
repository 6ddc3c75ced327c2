package dialect

import (
	"errors"
	"fmt"
	"strings"

	"wield/dialect/internal/chars"
	"wield/dialect/internal/form"
	"wield/dialect/internal/render"
	"wield/schema/shape"
)

// A Layout says, as literals, how a dialect writes its calls that is not in the table; see [Layout.Dialect]. What a
// layout does not have is empty.
type Layout struct {
	Name    string
	Summary string

	Open  string // what begins a call, or a section of calls
	Then  string // what must follow it, blanks aside, before the name
	Close string // what ends the call, or the section

	// Of calls whose name stands before the arguments:
	NameEnd   string // behind the name
	CallClose string // behind the arguments; Close then ends what stands around
	Counted   bool   // the name is an id: functions.NAME:0
	Quoted    bool   // the name stands in quotes, as an attribute does

	// Of arguments that are elements:
	KeyOpen    string // before the name of an argument; "": they are JSON
	KeyEnd     string // behind it
	ValueOpen  string // before its value, if that is an element of its own
	ValueClose string
	Newlines   bool // a newline at either end of a value is not part of it
	Typed      bool // a value is JSON if it can be where the tool says nothing of its type, else a string

	Token string // of JSON with bare keys: what stands at both ends of a string
	List  bool   // of JSON that holds the name: one list of all calls is written
	Args  string // of JSON that holds the name: the key of the arguments, unless that is a usual one
}

// Dialect makes the dialect that l describes. It is read where [Options.Own] has it. The error says what of it no
// reader can read.
func (l *Layout) Dialect() (*Dialect, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	d := &Dialect{Name: l.Name, Summary: l.Summary, ByName: true}
	o := opener{literal: l.Open, use: useBody, then: l.Then, closer: l.Close}
	switch {
	case l.KeyOpen != "":
		l.tags(d, &o)
	case l.Token != "":
		f := &form.Literal{Token: l.Token, Closer: l.Close}
		d.Class, o.body = classKeyValue, literalBody(f)
		d.write = render.Row{Open: l.Open, End: l.Close, Joined: true, Call: render.CallLiteral(f)}
	case l.NameEnd != "":
		l.header(d, &o)
	default:
		o.use, o.keys[1] = useJSON, l.Args
		d.Class = classJSON
		d.write = render.Row{Open: l.Open, End: l.Close, Call: render.CallName}
		if l.Args != "" {
			d.write.Call = render.CallObject(`{"name":`, `,"args":`)
		}
		if l.List {
			d.write.Head, d.write.Sep, d.write.Tail = l.Open+"[", ", ", "]"+l.Close
			d.write.Open, d.write.End = "", ""
		}
	}
	d.openers = append(d.openers, o)
	return d, nil
}

func (l *Layout) check() error {
	switch {
	case l.Name == "" || l.Name == "auto":
		return errors.New("a dialect needs a name of its own")
	case l.Open == "":
		return errors.New("nothing begins a call")
	case l.Token != "" && l.Then != "call:":
		return errors.New("the name before an object with bare keys has to stand behind \"call:\"")
	case l.KeyOpen != "" && l.NameEnd == "":
		return errors.New("nothing ends the name before the elements")
	case l.KeyOpen != "" && (l.KeyEnd == "" || l.ValueClose == "" || l.CallClose == ""):
		return errors.New("the elements of arguments need literals behind the key, the value and the call")
	case l.KeyOpen == "" && l.NameEnd != "" && l.NameEnd[0] != '\n' &&
		(chars.IsBlank(l.NameEnd[0]) || render.IsName("a"+l.NameEnd[:1])):
		return fmt.Errorf("what follows the name, %q, must not begin with a blank or with what a name may hold",
			l.NameEnd)
	}
	return nil
}

// tags completes the dialect of calls whose arguments are elements.
func (l *Layout) tags(d *Dialect, o *opener) {
	f := &form.Tags{NameEnd: l.NameEnd, ParamOpen: l.KeyOpen, ParamEnd: l.KeyEnd, ParamClose: l.ValueClose,
		CallOpen: l.Open, CallClose: l.CallClose, Quoted: l.Quoted, Newlines: l.Newlines, ValueOpen: l.ValueOpen}
	if l.Typed {
		f.Untyped = shape.UntypedPython
	}
	d.Class = classTagged
	if l.Then != "" {
		f.CallOpen = l.Then
	}
	if l.ValueOpen != "" {
		f.Bare, f.Alone = true, l.Then == "" && l.CallClose == l.Close
		o.word = l.Then == ""
	}
	o.body = tagBody(f)
	d.write = render.Row{Open: l.Open, End: l.Close, Call: render.CallTags(f)}
	if l.Then == "" && l.ValueOpen == "" {
		d.write.Open = ""
	}
	if l.CallClose == l.Close {
		if d.write.End = ""; l.ValueOpen != "" {
			d.write.End = l.Close
		} else {
			o.closer = ""
		}
	}
}

// header completes the dialect of calls with a name and a JSON object behind it.
func (l *Layout) header(d *Dialect, o *opener) {
	f := &form.Header{ArgsOpen: strings.TrimSpace(l.NameEnd), CallClose: l.CallClose, Counted: l.Counted}
	call := render.CallHeader(l.NameEnd)
	if l.NameEnd[0] == '\n' { // the name ends with its line, and the object may stand in a fence
		f.ArgsOpen, f.LineName = "", true
	}
	if l.Counted {
		call = render.CallCounted(l.NameEnd)
	}
	d.Class, o.closer = classHeaderJSON, ""
	if o.body = headerCall(f); l.Close != "" && l.Close != l.CallClose {
		f.CallOpen, f.Closer = l.Then, l.Close
		o.then, o.body = "", headerSection(f)
	}
	d.write = render.Row{Open: l.Open + l.Then, End: l.CallClose, Joined: true, Call: call}
	if f.Closer != "" {
		d.write.Head, d.write.Open, d.write.Tail = l.Open, l.Then, l.Close
	}
	if l.Counted {
		d.write.Open += "functions."
	}
	if strings.HasSuffix(l.NameEnd, "```json\n") {
		d.write.End = "\n```" + d.write.End
	}
}
