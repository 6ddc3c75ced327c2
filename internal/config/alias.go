package config

// CustomTools are keys of lumo-tamer's configuration that have another name here.
type CustomTools struct {
	Enabled *bool   `key:"enabled" doc:"The same as calls.enabled."`
	Prefix  *string `key:"prefix" doc:"The same as calls.prefix."`
}

// Talk says which requests belong to one conversation.
type Talk struct {
	Match    bool `key:"match" doc:"Recognise a conversation by its first messages; its id is in the header X-Wield-Conversation."`
	FromUser bool `key:"deriveIdFromUser" doc:"Use the request field user as conversation id."`
}

// Commands says whether users can give commands.
type Commands struct {
	Enabled  bool   `key:"enabled" doc:"wield answers messages such as /help itself."`
	WakeWord string `key:"wakeword" doc:"Word that can replace the slash of a command."`
}

// adopt takes what is said under other names to where it belongs. Said under both it must be the same.
func (m *Model) adopt(d *decoder, path string) {
	t := &m.CustomTools
	if t.Enabled != nil {
		if d.has(path+".calls.enabled") && *t.Enabled != m.Calls.Enabled {
			d.at(path+".customTools.enabled", "%v, but calls.enabled, which is the same key, is %v", *t.Enabled,
				m.Calls.Enabled)
		}
		m.Calls.Enabled = *t.Enabled
	}
	if t.Prefix != nil {
		if d.has(path+".calls.prefix") && *t.Prefix != m.Calls.Prefix {
			d.at(path+".customTools.prefix", "%q, but calls.prefix, which is the same key, is %q", *t.Prefix,
				m.Calls.Prefix)
		}
		m.Calls.Prefix = *t.Prefix
	}
}
