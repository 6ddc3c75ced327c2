package httpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"wield/tool"
)

// maxURL limits the length of an address. Servers take no longer ones.
const maxURL = 8 << 10

// build makes the request of a call.
func (p *program) build(ctx context.Context, args arguments) (*http.Request, error) {
	path, err := p.expandPath(args)
	if err != nil {
		return nil, err
	}
	var query []string
	var cookies []string
	header := http.Header{}
	for i := range p.fields {
		pairs, err := p.fields[i].expand(args)
		if err != nil {
			return nil, err
		}
		for _, kv := range pairs {
			if p.taken(i, kv[0]) {
				return nil, tool.Errorf(tool.ErrInvalid, "%s: the name %s belongs to another part of the request",
					p.fields[i].Name, kv[0])
			}
			switch p.fields[i].In {
			case InQuery:
				query = append(query, kv[0]+"="+kv[1])
			case inCookie:
				cookies = append(cookies, kv[0]+"="+kv[1])
			default:
				header.Add(kv[0], kv[1])
			}
		}
	}
	if len(cookies) > 0 {
		header.Set("Cookie", strings.Join(cookies, "; "))
	}
	address := p.site + path
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	if len(address) > maxURL {
		return nil, tool.Errorf(tool.ErrInvalid,
			"the address would have %d bytes, and %d are the most: use shorter arguments",
			len(address), maxURL)
	}
	return p.request(ctx, address, header, p.body(args))
}

func (p *program) request(ctx context.Context, address string, header http.Header, body []byte) (*http.Request, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, p.Method, address, reader)
	if err != nil || siteOf(req.URL) != p.site {
		return nil, tool.Errorf(tool.ErrInvalid, "the arguments make no address of %s", p.site)
	}
	maps.Copy(req.Header, header)
	if body != nil && header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if header.Get("Accept") == "" {
		req.Header.Set("Accept", strings.Join(p.accepted(), ", "))
	}
	if header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "wield")
	}
	return req, nil
}

// taken reports whether the name of a pair is that of another field: the members of an object choose their names.
func (p *program) taken(field int, name string) bool {
	f := &p.fields[field]
	return name != f.escape(f.Name) &&
		slices.ContainsFunc(p.fields, func(other compiled) bool {
			return other.In == f.In && other.escape(other.Name) == name
		})
}

func siteOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// expandPath writes the path. A segment that leads upwards is refused in whatever form, since servers differ in what
// they take for one.
func (p *program) expandPath(args arguments) (string, error) {
	var b strings.Builder
	for _, segment := range p.path {
		text, err := segment.expand(args, plain)
		if err != nil {
			return "", missing(err)
		}
		names := segment.names()
		if len(names) > 0 && climbs(text) {
			return "", tool.Errorf(tool.ErrInvalid, "%s: %q is no name in a path", names[0], text)
		}
		if text, err = segment.expandSegment(args); err != nil {
			return "", missing(err)
		}
		b.WriteString("/" + text)
	}
	return b.String(), nil
}

// climbs reports whether a segment is empty or leads to where it stands or upwards, also where a server decodes it
// twice.
func climbs(text string) bool {
	if text == "" {
		return true
	}
	for range 2 {
		for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }) {
			if name, _, _ = strings.Cut(name, ";"); name == "." || name == ".." {
				return true
			}
		}
		decoded, err := url.PathUnescape(text)
		if err != nil {
			break
		}
		text = decoded
	}
	return strings.ContainsRune(text, 0)
}

// expandSegment writes a segment of the path: lists and objects as the style simple of OpenAPI does.
func (t template) expandSegment(args arguments) (string, error) {
	name, alone := t.alone()
	if !alone || args[name] == nil {
		return t.expand(args, url.PathEscape)
	}
	return joined(args[name], styleExplode, url.PathEscape, ","), nil
}

// expand returns the pairs that a field becomes, ready to be sent; none if an argument for it is absent.
func (f *compiled) expand(args arguments) ([][2]string, error) {
	if f.Secret != "" {
		return [][2]string{{f.escape(f.Name), f.escape(f.Secret)}}, nil
	}
	name, alone := f.value.alone()
	if !alone {
		text, err := f.value.expand(args, plain)
		if errors.Is(err, errAbsent) {
			return nil, nil
		}
		return f.pairs(f.Name, text)
	}
	raw, ok := args[name]
	if !ok {
		return nil, nil
	}
	if f.In == InQuery && f.Style == styleExplode || f.Style == styleDeep {
		return f.several(raw)
	}
	if !isSimple(raw) && f.Style != styleJSON && f.In == InQuery {
		return [][2]string{{f.escape(f.Name), joined(raw, f.Style, f.escape, separators[f.Style])}}, nil
	}
	if !isSimple(raw) && f.Style != styleJSON {
		if err := noCommas(raw, f.Name); err != nil {
			return nil, err
		}
		return f.pairs(f.Name, joined(raw, f.Style, plain, ","))
	}
	return f.pairs(f.Name, textOf(raw))
}

// separators stand between the items of a list in a query.
var separators = map[string]string{styleComma: ",", styleSpace: "%20", stylePipe: "%7C"}

// several writes each item and member as a pair of its own.
func (f *compiled) several(raw json.RawMessage) ([][2]string, error) {
	list, isList := items(raw)
	object, isObject := members(raw)
	var pairs [][2]string
	switch {
	case isList:
		for _, item := range list {
			pairs = append(pairs, [2]string{f.escape(f.Name), f.escape(textOf(item))})
		}
	case isObject:
		for _, m := range object {
			name := m.name
			if f.Style == styleDeep {
				name = f.Name + "[" + m.name + "]"
			}
			pairs = append(pairs, [2]string{f.escape(name), f.escape(textOf(m.value))})
		}
	default:
		return f.pairs(f.Name, textOf(raw))
	}
	return pairs, nil
}

// pairs returns a field with one text.
func (f *compiled) pairs(name, text string) ([][2]string, error) {
	if f.In == InHeader && !isLine(text) {
		return nil, tool.Errorf(tool.ErrInvalid, "%s: a header is one line without control characters", name)
	}
	return [][2]string{{f.escape(name), f.escape(text)}}, nil
}

// escape writes a text so that it stays where it stands.
func (f *compiled) escape(text string) string {
	if f.In == InHeader {
		return text
	}
	return url.QueryEscape(text)
}

func isSimple(raw json.RawMessage) bool { return len(raw) == 0 || raw[0] != '[' && raw[0] != '{' }

// joined writes a list or an object as one text.
func joined(raw json.RawMessage, style string, escape func(string) string, separator string) string {
	if separator == "" {
		separator = ","
	}
	var parts []string
	if list, ok := items(raw); ok {
		for _, item := range list {
			parts = append(parts, escape(textOf(item)))
		}
		return strings.Join(parts, separator)
	}
	object, ok := members(raw)
	if !ok {
		return escape(textOf(raw))
	}
	between := separator
	if style == styleExplode {
		between = "="
	}
	for _, m := range object {
		parts = append(parts, escape(m.name)+between+escape(textOf(m.value)))
	}
	return strings.Join(parts, separator)
}

// noCommas refuses items in which a reader would see two: in a header nothing can be escaped.
func noCommas(raw json.RawMessage, name string) error {
	list, _ := items(raw)
	object, _ := members(raw)
	for _, m := range object {
		list = append(list, quote(m.name), m.value)
	}
	if slices.ContainsFunc(list, func(item json.RawMessage) bool { return strings.ContainsAny(textOf(item), ",=") }) {
		return tool.Errorf(tool.ErrInvalid, "%s: an item with a comma or an equals sign cannot be told from two", name)
	}
	return nil
}

// body returns the body; nil if there is none.
func (p *program) body(args arguments) []byte {
	if p.Body != nil {
		filled, empty := fill(p.Body, args)
		if empty {
			return nil
		}
		return filled
	}
	if !p.rest {
		return nil
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(p.used, name) {
			parts = append(parts, string(quote(name))+":"+string(args[name]))
		}
	}
	if parts == nil && p.Method == http.MethodDelete {
		return nil
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

// missing tells a model which argument it has to give.
func missing(err error) error {
	name, _, _ := strings.Cut(err.Error(), ":")
	return tool.Errorf(tool.ErrInvalid, "%s: the address needs it", name)
}
