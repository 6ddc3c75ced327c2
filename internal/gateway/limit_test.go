package gateway

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"wield/chat"
	"wield/wire/jsonbody"
)

// limitFronts are the protocols with a request that each of them answers.
var limitFronts = map[chat.Protocol]struct{ path, body string }{
	chat.ProtocolOpenAI:    {pathCompletions, `"model":"m","messages":[{"role":"user","content":"hi"}]`},
	chat.ProtocolResponses: {pathResponses, `"model":"m","input":"hi"`},
	chat.ProtocolAnthropic: {pathMessages, `"model":"m","messages":[{"role":"user","content":"hi"}]`},
	chat.ProtocolOllama:    {pathChat, `"model":"m","stream":false,"messages":[{"role":"user","content":"hi"}]`},
}

// refused sends a request with one setting more and returns what its error says; an answer that is no error of the
// protocol is one of the test.
func refused(t *testing.T, p chat.Protocol, body string) (message, param, code string) {
	t.Helper()
	resp, answer := send(t, serve(t, one(says(text("a")))), "POST", limitFronts[p].path, body)
	var e struct {
		Type  string
		Error json.RawMessage
	}
	var said struct{ Type, Message, Param, Code string }
	if err := json.Unmarshal([]byte(answer), &e); err != nil || resp.StatusCode != 400 {
		t.Errorf("%s %s: status %d, %s", p, body, resp.StatusCode, answer)
		return
	}
	if p == chat.ProtocolOllama { // an error is a string there
		if err := json.Unmarshal(e.Error, &said.Message); err != nil {
			t.Errorf("%s", answer)
		}
		return said.Message, "", ""
	}
	if err := json.Unmarshal(e.Error, &said); err != nil || said.Type != "invalid_request_error" ||
		(e.Type == "error") != (p == chat.ProtocolAnthropic) {
		t.Errorf("%s: not the form of an error: %s", p, answer)
	}
	return said.Message, said.Param, said.Code
}

// TestSettings: a setting that nothing can be made of is refused by every front, in its own form, with the field's
// name.
func TestSettings(t *testing.T) {
	const positive = "this must be a positive number; leave it out for no bound"
	for _, tt := range []struct {
		protocol                     chat.Protocol
		setting, field, code, reason string
	}{
		{chat.ProtocolOpenAI, `"max_tokens":-1`, "max_tokens", "invalid_value", positive},
		{chat.ProtocolOpenAI, `"max_completion_tokens":0`, "max_completion_tokens", "invalid_value", positive},
		{chat.ProtocolResponses, `"max_output_tokens":-1`, "max_output_tokens", "invalid_value", positive},
		{chat.ProtocolAnthropic, `"max_tokens":-1`, "max_tokens", "", positive},
		{chat.ProtocolOllama, `"options":{"num_predict":1.5}`, "options.num_predict", "", "this must be an integer"},
		{chat.ProtocolOpenAI, `"temperature":3`, "temperature", "invalid_value", "this must be from 0 to 2"},
		{chat.ProtocolResponses, `"temperature":3`, "temperature", "invalid_value", "this must be from 0 to 2"},
		{chat.ProtocolAnthropic, `"temperature":3`, "temperature", "", "this must be from 0 to 1"},
		{chat.ProtocolOllama, `"options":{"temperature":-3}`, "options.temperature", "", "this must be at least 0"},
		{chat.ProtocolOpenAI, `"top_logprobs":21`, "top_logprobs", "invalid_value", "this must be from 0 to 20"},
		{chat.ProtocolResponses, `"top_logprobs":21`, "top_logprobs", "invalid_value", "this must be from 0 to 20"},
		{chat.ProtocolOllama, `"top_logprobs":21`, "top_logprobs", "", "this must be from 0 to 20"},
		{chat.ProtocolOpenAI, `"presence_penalty":"much"`, "presence_penalty", "invalid_type",
			"this must be a number, not a string"},
		{chat.ProtocolOpenAI, `"verbosity":"zzz"`, "verbosity", "invalid_value",
			"this must be one of low, medium and high"},
		{chat.ProtocolResponses, `"text":{"verbosity":"zzz"}`, "text.verbosity", "invalid_value",
			"this must be one of low, medium and high"},
		{chat.ProtocolResponses, `"truncation":"zzz"`, "truncation", "invalid_value", "this must be auto or disabled"},
		{chat.ProtocolResponses, `"truncation":5`, "truncation", "invalid_type",
			"this must be auto or disabled, not a number"},
		{chat.ProtocolResponses, `"include":"reasoning.encrypted_content"`, "include", "invalid_type",
			"this must be an array, not a string"},
		{chat.ProtocolAnthropic, `"thinking":5`, "thinking", "", "this must be an object, not a number"},
		{chat.ProtocolAnthropic, `"thinking":{"type":"zzz"}`, "thinking.type", "",
			"this must be one of enabled, disabled and adaptive"},
		{chat.ProtocolAnthropic, `"thinking":{"type":"enabled","budget_tokens":"a"}`, "thinking.budget_tokens", "",
			"this must be an integer, not a string"},
		{chat.ProtocolAnthropic, `"top_k":-1`, "top_k", "", "this must be at least 0"},
		{chat.ProtocolOpenAI, `"reasoning_effort":"zzz"`, "reasoning_effort", "invalid_reasoning_effort",
			"this must be one of none, minimal, low, medium, high, xhigh and max"},
		{chat.ProtocolResponses, `"reasoning":{"effort":"zzz"}`, "reasoning.effort", "invalid_reasoning_effort",
			"this must be one of none, minimal, low, medium, high, xhigh and max"},
		{chat.ProtocolOllama, `"think":"zzz"`, "think", "",
			"this must be a boolean or one of none, minimal, low, medium, high, xhigh and max"},
		{chat.ProtocolOllama, `"think":5`, "think", "",
			"this must be a boolean or one of none, minimal, low, medium, high, xhigh and max, not a number"},
	} {
		t.Run(string(tt.protocol)+" "+tt.setting, func(t *testing.T) {
			message, param, code := refused(t, tt.protocol, `{`+limitFronts[tt.protocol].body+`,`+tt.setting+`}`)
			if message != tt.field+": "+tt.reason {
				t.Errorf("message %q, want %q", message, tt.field+": "+tt.reason)
			}
			if tt.code != "" && (param != tt.field || code != tt.code) {
				t.Errorf("param %q, code %q", param, code)
			}
		})
	}
}

// TestSettingsOfEveryField: no field of the table lets every type through, and null is allowed everywhere.
func TestSettingsOfEveryField(t *testing.T) {
	for p, f := range limitFronts {
		for _, field := range slices.Sorted(maps.Keys(jsonbody.LimitsOf(p))) {
			if field == "stream" && p == chat.ProtocolOllama {
				continue // it is in the request already
			}
			srv := serve(t, one(says(text("a"), finish(chat.FinishStop))))
			bad := 0
			for _, value := range []string{`null`, `true`, `5`, `"zzz"`, `{"a":1}`, `[{"a":1}]`} {
				resp, answer := send(t, srv, "POST", f.path, `{`+f.body+`,"`+field+`":`+value+`}`)
				switch {
				case resp.StatusCode == 400 && value != "null":
					bad++
				case resp.StatusCode != 200:
					t.Errorf("%s %s:%s: status %d, %s", p, field, value, resp.StatusCode, answer)
				}
			}
			if bad < 3 {
				t.Errorf("%s %s: only %d of five types are refused", p, field, bad)
			}
		}
	}
}
