package config

import (
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// An Explained key is one value that is in force, and where it comes from.
type Explained struct {
	Path  string `json:"path"`
	Value string `json:"value"`           // as a file would say it; of secrets the reference
	Layer string `json:"layer"`           // default, file, environment or flag
	From  string `json:"from,omitempty"`  // the place in the file, or the name of the variable or flag
	Note  string `json:"note,omitempty"`  // what the value comes to
	Doc   string `json:"about,omitempty"` // what the key means
}

// Explain returns every key of the configuration that was read, in the order of the file's format, with the layer that
// gave it its value.
func (r *Result) Explain() []Explained {
	e := explainer{d: r.read, notes: r.notes()}
	e.fields("", reflect.ValueOf(r.Config).Elem())
	return e.list
}

// notes say what some values come to that leave a choice open.
func (r *Result) notes() map[string]string {
	notes := map[string]string{}
	for _, name := range r.ModelNames() {
		p := r.ProfileOf(name)
		if p.Name != "" {
			notes["models."+name+".profile"] = p.Name
		}
		if taught := p.Taught(); r.Models[name].Dialect == "auto" && taught != "" {
			notes["models."+name+".dialect"] = taught
		}
		if r.Models[name].Model == "" {
			notes["models."+name+".model"] = name
		}
	}
	return notes
}

// An explainer walks a configuration.
type explainer struct {
	d     *decoder
	notes map[string]string
	list  []Explained
}

func (e *explainer) fields(prefix string, v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		e.value(prefix+f.name, v.FieldByIndex(f.index), f.doc)
	}
}

// value explains what stands at a path: one value, or all that is below it.
func (e *explainer) value(path string, v reflect.Value, doc string) {
	if _, ok := asScalar(v); ok {
		e.add(path, fmt.Sprint(v.Interface()), doc)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		e.fields(path+".", v)
	case reflect.Pointer:
		if !v.IsNil() {
			e.value(path, v.Elem(), doc)
		}
	case reflect.Map:
		e.entries(path, v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct && !isText(v.Type().Elem()) {
			for i := range v.Len() {
				e.value(path+"["+strconv.Itoa(i)+"]", v.Index(i), doc)
			}
			return
		}
		items := make([]string, v.Len())
		for i := range items {
			items[i] = fmt.Sprint(v.Index(i).Interface())
		}
		e.add(path, "["+strings.Join(items, ", ")+"]", doc)
	default:
		e.add(path, fmt.Sprint(v.Interface()), doc)
	}
}

// isText reports whether values of a type are written as text.
func isText(t reflect.Type) bool {
	_, ok := reflect.New(t).Interface().(scalar)
	return ok
}

func (e *explainer) entries(path string, v reflect.Value) {
	names := v.MapKeys()
	sort.Slice(names, func(i, j int) bool { return names[i].String() < names[j].String() })
	for _, name := range names {
		entry := reflect.New(v.Type().Elem()).Elem() // what a map holds has no address
		entry.Set(v.MapIndex(name))
		e.value(path+"."+name.String(), entry, "")
	}
}

func (e *explainer) add(path, value, doc string) {
	x := Explained{Path: path, Value: value, Layer: "default", Doc: doc, Note: e.notes[path]}
	if source := e.d.sources[path]; source != "" {
		x.Layer, x.From = "environment", source
		if strings.HasPrefix(source, "--") {
			x.Layer = "flag"
		}
	} else if where, ok := e.d.places[path]; ok {
		x.Layer, x.From = "file", e.d.file
		t := where.key
		if t == nil {
			t = firstToken(where.value)
		}
		if t != nil {
			x.From = fmt.Sprintf("%s:%d:%d", e.d.file, t.Position.Line, t.Position.Column)
		}
	}
	e.list = append(e.list, x)
}
