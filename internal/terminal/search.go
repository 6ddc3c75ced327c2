package terminal

import (
	"context"
	"slices"
	"strings"
)

// A search looks for something that was written before.
type search struct {
	text  string
	at    int // of the entry that was found
	none  bool
	found editor
}

// press takes a key, and reports whether the search continues with it.
func (s *search) press(c *conversation, p press) bool {
	switch p.key {
	case keyRune, keyPaste:
		s.text += p.text
		s.at++
	case keyBackspace:
		if r := []rune(s.text); len(r) > 0 {
			s.text, s.at = string(r[:len(r)-1]), len(c.editor.past.entries)
		}
	case keySearch:
	case keyEsc, keyInterrupt:
		c.search = nil
		return true
	default: // the key acts on what was found
		if !s.none && s.at < len(c.editor.past.entries) && s.text != "" {
			c.editor.set(c.editor.past.entries[s.at])
		}
		c.search = nil
		return p.key == keyEnter // once more sends it
	}
	if i := c.editor.past.find(s.text, s.at); i >= 0 {
		s.at, s.none = i, false
	} else {
		s.none = true
		s.at = min(s.at, len(c.editor.past.entries))
	}
	return true
}

// show returns what stands in place of the input.
func (s *search) show(c *conversation) (string, *editor) {
	prompt := "search " + clean(s.text) + ": "
	if s.none {
		prompt = "nothing has " + clean(s.text) + ": "
	}
	s.found.set("")
	if !s.none && s.text != "" && s.at < len(c.editor.past.entries) {
		s.found.set(c.editor.past.entries[s.at])
	}
	return prompt, &s.found
}

// complete completes the command, its argument, or the name of the file before the cursor.
func (c *conversation) complete() {
	e := &c.editor
	from := e.at
	for from > 0 && e.text[from-1] != ' ' && e.text[from-1] != '\n' {
		from--
	}
	word := string(e.text[from:e.at])
	var all []string
	switch before := strings.Fields(string(e.text[:from])); {
	case from == 0 && strings.HasPrefix(word, "/"):
		for i := range commands {
			all = append(all, commands[i].name)
		}
	case len(before) > 0 && strings.HasPrefix(before[0], "/"):
		i := slices.IndexFunc(commands, func(k command) bool { return k.name == before[0] && k.words != nil })
		if i < 0 {
			return
		}
		all = commands[i].words(c, before[1:])
	case strings.HasPrefix(word, "@") && c.o.Files != nil:
		for _, f := range c.o.Files() {
			all = append(all, "@"+f)
		}
	default:
		return
	}
	fits := slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, word) })
	switch {
	case len(fits) == 0 && word == "":
		return
	case len(fits) == 0:
		c.hint = "Nothing begins with " + word
		return
	}
	common := fits[0]
	for _, f := range fits[1:] {
		for !strings.HasPrefix(f, common) {
			common = common[:len(common)-1]
		}
	}
	common = strings.ToValidUTF8(common, "")
	if len(fits) == 1 && !strings.HasSuffix(common, "/") {
		common += " "
	}
	if common != word {
		e.insert(strings.TrimPrefix(common, word))
		return
	}
	c.hint = strings.Join(fits[:min(len(fits), 12)], "  ")
}

// modelWords, dialectWords, toolWords and undoWords are what Tab offers behind the commands of these names.
func (c *conversation) modelWords(before []string) []string {
	if len(before) > 0 {
		return nil
	}
	return slices.Clone(c.o.Models)
}

func (c *conversation) dialectWords(before []string) []string {
	if len(before) > 0 {
		return nil
	}
	return append([]string{"auto"}, c.o.Dialects...)
}

func (c *conversation) toolWords(before []string) []string {
	switch {
	case c.o.Tools == nil || len(before) > 1:
		return nil
	case len(before) == 1:
		return []string{"on", "off"}
	}
	var names []string
	for _, e := range c.o.Tools.Entries() {
		names = append(names, e.Tool.Name())
	}
	return names
}

func undoWords(_ *conversation, before []string) []string {
	if len(before) > 0 {
		return nil
	}
	return []string{"last"}
}

// submit carries out what was entered, and reports whether that was possible now.
func (c *conversation) submit(ctx context.Context, text string) bool {
	if strings.HasPrefix(text, "/") {
		return c.command(ctx, strings.TrimSpace(text))
	}
	return c.send(ctx, text)
}
