package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/doctor"
	"wield/tool/mcp"
)

// ExamineServers looks at each MCP server: whether it can be reached, and what is wrong with its tools.
func ExamineServers(ctx context.Context, app *cli.App, file string) ([]doctor.Finding, error) {
	var list []doctor.Finding
	err := withServers(app, file, func(box *compose.Toolbox, _ *config.Result) error {
		servers := box.Servers()
		problems := map[string]*[]error{}
		var wg sync.WaitGroup
		for name, s := range servers {
			found := new([]error)
			problems[name] = found
			wg.Go(func() { _, *found = s.Tools(ctx) })
		}
		wg.Wait()
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			about, st := "mcp server "+name, servers[name].Status()
			if st.Connected {
				list = append(list, doctor.Finding{About: about, Check: "connection", State: doctor.OK,
					Says: fmt.Sprintf("%s, revision %s, %s", st.Server, st.Protocol, cli.Count(st.Tools, "tool"))})
			}
			for _, p := range *problems[name] {
				if of := (*mcp.ServerError)(nil); errors.As(p, &of) {
					p = of.Err
				}
				f := doctor.Finding{About: about, Check: "tools", State: doctor.Note, Says: p.Error(),
					Fix: "wield mcp show " + name + " prints its tools; deny leaves some out"}
				switch {
				case errors.Is(p, mcp.ErrLogin):
					f.Check, f.State, f.Fix = "login", doctor.Failed, "wield mcp login "+name
				case !st.Connected:
					f.Check, f.State, f.Fix = "connection", doctor.Failed, "wield mcp test "+name+
						" tries it again; see docs/mcp.md for what a program may do"
				}
				list = append(list, f)
			}
		}
		return nil
	})
	return list, err
}
