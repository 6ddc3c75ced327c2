package vt

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// colors are those of the sixteen that wield uses, on a dark ground.
var colors = map[string]string{"31": "#f47067", "32": "#8ddb8c", "33": "#daaa3f", "34": "#6cb6ff", "35": "#dcbdfb",
	"36": "#76e3ea"}

// Sizes of the picture, in its own units.
const (
	cellWidth  = 8.4
	cellHeight = 18
	margin     = 14
)

// SVG returns a picture of the screen.
func (v *Terminal) SVG(title string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	rows := v.rows
	for len(rows) > 1 && v.line(rows[len(rows)-1], false) == "" {
		rows = rows[:len(rows)-1]
	}
	w, h := float64(v.w)*cellWidth+2*margin, len(rows)*cellHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" role="img" aria-label="%s">`+"\n", w,
		h, escaped(title))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#1c2128"/>`+"\n")
	b.WriteString(
		`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14" fill="#cdd9e5" xml:space="preserve">` + "\n")
	for y, r := range rows {
		for x := 0; x < len(r); {
			end := x
			for end < len(r) && r[end].look == r[x].look {
				end++
			}
			if text := v.line(cleared(r[x:end]), false); strings.TrimSpace(text) != "" {
				fmt.Fprintf(&b, `<text x="%.1f" y="%d"%s>%s</text>`+"\n", margin+float64(x)*cellWidth,
					margin+13+y*cellHeight, attributes(r[x].look), escaped(text))
			}
			x = end
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// cleared returns cells without their styles, so that blanks at the end count as such.
func cleared(r []cell) []cell {
	out := make([]cell, len(r))
	for i, c := range r {
		out[i] = cell{text: c.text}
		if c.text == "" && c.look == "" {
			out[i].text = " "
		}
	}
	return out
}

// attributes returns how text in a style is drawn.
func attributes(look string) string {
	var b strings.Builder
	for _, n := range strings.Split(strings.Trim(look, "[m"), ";") {
		switch n {
		case "1":
			b.WriteString(` font-weight="bold"`)
		case "2":
			b.WriteString(` fill-opacity="0.6"`)
		case "3":
			b.WriteString(` font-style="italic"`)
		case "4":
			b.WriteString(` text-decoration="underline"`)
		case "9":
			b.WriteString(` text-decoration="line-through"`)
		default:
			if c, ok := colors[n]; ok {
				fmt.Fprintf(&b, ` fill="%s"`, c)
			}
		}
	}
	return b.String()
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder never fails
	return b.String()
}
