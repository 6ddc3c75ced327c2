package terminal

import (
	"strings"

	"wield/tool/edit"
	"wield/tool/policy"
)

// diffStyle returns how a line of a unified diff looks.
func diffStyle(line string) style {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		return styleStrong
	case strings.HasPrefix(line, "+"):
		return styleAdd
	case strings.HasPrefix(line, "-"):
		return styleRemove
	case strings.HasPrefix(line, "@@"):
		return styleHunk
	}
	return styleText
}

// diffRows returns the whole of a diff. What cannot be seen in it is spelled out.
func diffRows(diff string) []row {
	var out []row
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		out = append(out, styled(diffStyle(line), visible(line)))
	}
	return out
}

// visible spells out all that cannot be seen, and keeps the indentation, which policy.Visible would count.
func visible(line string) string {
	line = strings.ReplaceAll(line, "\t", strings.Repeat(" ", tabStop))
	n := 0
	for n < len(line) && (line[n] == ' ' || n == 0 && (line[n] == '+' || line[n] == '-')) {
		n++
	}
	return line[:n] + policy.Visible(line[n:])
}

// changeRows shows what becomes of files: one line for each, its diff, and what has to be known about it.
func changeRows(changes []edit.Change) []row {
	var out []row
	for i := range changes {
		c := &changes[i]
		out = append(out, styled(styleStrong, policy.Visible(c.Summary())))
		out = append(out, diffRows(c.Diff(3))...)
		if steps := c.Lenient; len(steps) > 0 {
			words := make([]string, len(steps))
			for i, s := range steps {
				words[i] = string(s)
			}
			out = append(out, styled(styleWarn, "The file differs from the model's text in: "+
				strings.Join(words, ", ")))
		}
		for _, w := range c.Warnings {
			out = append(out, styled(styleWarn, policy.Visible(w)))
		}
	}
	return out
}
