package dialect_test

import (
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/schema/shape"
)

// TestOwnSeparator reads what a layout writes whose separator begins in no way that one of the table does.
func TestOwnSeparator(t *testing.T) {
	calls := []chat.Call{{Name: "N", Arguments: `{"k":"a >> b <<end>> c"}`}, {Name: "N", Arguments: `{}`}}
	for _, end := range []string{">>", "|", " = ", "a", ":"} {
		l := dialect.Layout{Name: "own", Open: "<<invoke:", NameEnd: end, CallClose: "<<end>>"}
		d, err := l.Dialect()
		if bad := end == " = " || end == "a" || end == ":"; bad || err != nil {
			if !bad || err == nil {
				t.Errorf("%q: %v", end, err)
			}
			continue
		}
		text, err := d.AppendCalls(nil, calls)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dialect.Parse(string(text), dialect.Options{Tools: []shape.Tool{{Name: "N"}}, Own: d})
		if err != nil || len(got.Calls) != 2 || got.Calls[0].Arguments != calls[0].Arguments || got.Content() != "" {
			t.Errorf("%q is %v and %q (%v)", text, got.Calls, got.Content(), err)
		}
	}
}

// TestOwnArgs reads the key of the arguments that a layout names, whatever it is, beside any key of the name, with
// nothing repaired.
func TestOwnArgs(t *testing.T) {
	for _, args := range []string{"input", "fn_args", "the_arguments_of_a_call"} {
		l := dialect.Layout{Name: "own", Open: "[TOOLS]", Close: "[/TOOLS]", Args: args}
		d, err := l.Dialect()
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]int{"name": 1, "tool": 1, "call": 0} {
			text := `[TOOLS]{"` + key + `":"N","` + args + `":{"k":"v"}}[/TOOLS]`
			got, err := dialect.Parse(text, dialect.Options{Tools: []shape.Tool{{Name: "N"}}, Own: d,
				Repair: dialect.RepairOff})
			if err != nil || len(got.Calls) != want || want == 1 && got.Calls[0].Arguments != `{"k":"v"}` {
				t.Errorf("%s is %v and %v (%v), want %d calls", text, got.Calls, got.Rejected, err, want)
			}
		}
	}
}
