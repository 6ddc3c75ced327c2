package compose

import (
	"fmt"
	"path/filepath"
	"strings"

	"wield/internal/config"
	"wield/tool"
)

// ToolFile makes the tools of the text of a file in a directory of tools, NAME.http.yaml or NAME.openapi.yaml, as if it
// stood there. Secrets are not looked up.
func ToolFile(file string, data []byte) ([]*tool.Tool, error) {
	s := &requestSource{look: config.AnySecret}
	if name, ok := strings.CutSuffix(filepath.Base(file), config.RequestSuffix); ok {
		h, f := &config.HTTPTool{}, &requestFile{}
		if err := config.ReadEntry(file, data, h); err != nil {
			return nil, err
		}
		f.add(h, name, file, s.look)
		return f.tools, f.err
	}
	if !strings.HasSuffix(file, config.OpenAPISuffix) {
		return nil, fmt.Errorf("%s: its name ends in neither %s nor %s", file, config.RequestSuffix,
			config.OpenAPISuffix)
	}
	o := &config.OpenAPITools{}
	if err := config.ReadEntry(file, data, o); err != nil {
		return nil, err
	}
	f := s.document(*o, file, filepath.Dir(file))
	return f.tools, f.err
}
