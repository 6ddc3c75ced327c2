package sandbox

// A Machine holds the means of a machine, as Probe finds them.
type Machine struct {
	System string        `json:"system"`
	Kernel string        `json:"kernel,omitempty"`
	Layers []LayerReport `json:"layers"`
	Levels []LevelReport `json:"levels"`
}

// A LayerReport says whether a layer can be had.
type LayerReport struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

// A LevelReport says whether a level can be had, by which means, and what is missing otherwise.
type LevelReport struct {
	Level   Level     `json:"level"`
	OK      bool      `json:"ok"`
	Means   string    `json:"means,omitempty"`
	Missing []Missing `json:"missing,omitempty"`
}

// Level returns what was found about a level.
func (m Machine) Level(l Level) LevelReport {
	for _, r := range m.Levels {
		if r.Level == l {
			return r
		}
	}
	return LevelReport{Level: l}
}
