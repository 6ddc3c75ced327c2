package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"wield/tool"
)

// ToolFile makes the tools of the text of a file in a directory of tools, NAME.http.yaml or NAME.openapi.yaml, as if it stood there.
// Secrets are not looked up.
func ToolFile(file string, data []byte) ([]*tool.Tool, error) {
	s := &requestSource{look: anySecret}
	if name, ok := strings.CutSuffix(filepath.Base(file), RequestSuffix); ok {
		h, f := &HTTPTool{}, &requestFile{}
		if err := readEntry(file, data, h); err != nil {
			return nil, err
		}
		f.add(h, name, file, s.look)
		return f.tools, f.err
	}
	if !strings.HasSuffix(file, OpenAPISuffix) {
		return nil, fmt.Errorf("%s: its name ends in neither %s nor %s", file, RequestSuffix, OpenAPISuffix)
	}
	o := &OpenAPITools{}
	if err := readEntry(file, data, o); err != nil {
		return nil, err
	}
	f := s.document(*o, file, filepath.Dir(file))
	return f.tools, f.err
}
