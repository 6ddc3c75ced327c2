package tool_test

import (
	"reflect"
	"testing"

	"wield/tool"
	"wield/tool/policy"
)

// A field that With forgot would be one that runs do not have.
func TestWithKeepsEveryField(t *testing.T) {
	r := new(tool.Runner)
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case !f.CanSet():
		case f.Kind() == reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case f.Kind() == reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.CanInt():
			f.SetInt(3)
		case f.CanUint():
			f.SetUint(3)
		}
	}
	r.Tools, r.Approvals, r.Policy = new(tool.Registry), new(tool.MemoryApprovals), allows{}
	r.Sandbox.Level, r.Limits.Timeout = "limits", 1
	r.Scope.Session = "ses_1"
	records := new(tool.MemoryRecords)
	w := reflect.ValueOf(r.With(records)).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch {
		case !v.Field(i).CanSet():
		case name == "Records":
			if w.Field(i).Interface() != any(records) {
				t.Error("the records are not those that were given")
			}
		case v.Field(i).IsZero():
			t.Errorf("the test gives %s no value", name)
		case !reflect.DeepEqual(v.Field(i).Interface(), w.Field(i).Interface()):
			t.Errorf("%s is lost", name)
		}
	}
}

type allows struct{}

func (allows) Decide(policy.Action) policy.Verdict { return policy.Verdict{} }
