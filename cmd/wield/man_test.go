package main

import (
	"testing"

	"github.com/spf13/cobra"

	"wield/internal/cli"
)

// TestManPage checks that nothing in a text is taken for a request of troff.
func TestManPage(t *testing.T) {
	cmd := &cobra.Command{
		Use:     "thing [FILE]",
		Short:   `A "thing"`,
		Long:    ".wield.yaml and 'quotes' begin lines;\n.so does this\n\nC:\\dir stays",
		Example: "  thing --deep \\\n    'x'",
		Run:     func(*cobra.Command, []string) {},
	}
	cmd.Flags().Int("deep", 3, "how `FAR`")
	want := `.TH "THING" "1" "" "wield ` + escapeRoff(cli.Release) + `" "wield"
.SH "NAME"
thing \- A "thing"
.SH "SYNOPSIS"
.PP
.nf
thing [FILE] [flags]
.fi
.SH "DESCRIPTION"
\&.wield.yaml and 'quotes' begin lines;
\&.so does this
.PP
C:\edir stays
.SH "OPTIONS"
.TP
\-\-deep FAR
how FAR (default 3)
.SH "EXAMPLES"
.PP
.nf
  thing \-\-deep \e
    'x'
.fi
`
	if got := manPage(cmd); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
