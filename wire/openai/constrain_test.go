package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"wield/chat"
)

// TestConstrain: the words in which each kind of server is asked for a form.
func TestConstrain(t *testing.T) {
	schema := &chat.Format{Kind: chat.FormatSchema, Name: "city", Schema: json.RawMessage(`{"type":"object"}`)}
	object := &chat.Format{Kind: chat.FormatJSON}
	const anyObject = `"response_format":{"type":"json_object"}`
	for _, tc := range []struct {
		how  Constrain
		f    *chat.Format
		want string
	}{
		{constrainFormat, schema,
			`"response_format":{"type":"json_schema","json_schema":{"name":"city","schema":{"type":"object"}}}`},
		{constrainFormat, object, anyObject},
		{ConstrainVLLM, schema, `"structured_outputs":{"json":{"type":"object"}}`},
		{ConstrainVLLM, object, anyObject},
		{ConstrainLlamaCPP, schema, `"json_schema":{"type":"object"}`},
		{ConstrainLlamaCPP, object, anyObject},
		{ConstrainLlamaCPP, &chat.Format{Kind: chat.FormatGrammar, Grammar: "root ::= \"a\""},
			`"grammar":"root ::= \"a\""`},
		{ConstrainVLLM, &chat.Format{Kind: chat.FormatGrammar, Grammar: `{"type":"structural_tag"}`},
			`"response_format":{"type":"structural_tag"}`},
		{constrainFormat, &chat.Format{Kind: chat.FormatJSON, Schema: json.RawMessage(`{"type":"object"}`)},
			`"response_format":{"type":"json_object","schema":{"type":"object"}}`},
		{ConstrainVLLM, &chat.Format{Kind: chat.FormatSchema},
			`"response_format":{"type":"json_schema","json_schema":{"name":"answer"}}`},
	} {
		extra := []chat.Extra{{Protocol: chat.ProtocolOpenAI, Key: "json_schema", Value: json.RawMessage("1")},
			{Protocol: chat.ProtocolOpenAI, Key: "structured_outputs", Value: json.RawMessage("1")}}
		b, err := AppendRequest(nil, &chat.Request{Model: "m", Format: tc.f, Extra: extra},
			RequestOptions{Constrain: tc.how, Forward: []string{"json_schema", "structured_outputs"}})
		if err != nil || !json.Valid(b) || string(b) != `{"model":"m","messages":[],`+tc.want+`}` {
			t.Errorf("%d: %s, %v; want %s", tc.how, b, err, tc.want)
		}
	}
}

// TestRefusals: the spellings in which servers say that they do not take tools, or hold no answer to a form.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		status     int
		body, code string
	}{
		{400, `{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools"}}`,
			chat.CodeToolsUnsupported},
		{400, `{"error":"\"phi3\" does not support tools"}`, chat.CodeToolsUnsupported},
		{400,
			`{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`, chat.CodeToolsUnsupported},
		{400,
			`{"error":{"message":"tool_choice=\"required\" requires --tool-call-parser to be set","type":"BadRequestError"}}`, chat.CodeToolsUnsupported},
		{500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`,
			chat.CodeToolsUnsupported},
		{400, `{"error":{"message":"This model doesn't support function calling"}}`, chat.CodeToolsUnsupported},
		{422, `{"detail":"Tool use is not enabled for this model"}`, chat.CodeToolsUnsupported},
		{400, `{"error":{"message":"Cannot use tools with stream"}}`, chat.CodeToolsUnsupported},
		{400, `{"error":{"message":"Cannot use custom grammar constraints with tools."}}`, chat.CodeFormatUnsupported},
		{400,
			`{"error":{"message":"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.","param":"response_format"}}`, chat.CodeFormatUnsupported},
		{400,
			`{"error":{"message":"Invalid schema for response_format 'city': schema must be a JSON Schema of 'type: \"object\"'"}}`, chat.CodeFormatUnsupported},
		{400, `{"error":{"code":400,"message":"Failed to parse grammar"}}`, chat.CodeFormatUnsupported},
		{400,
			`{"detail":[{"type":"extra_forbidden","loc":["body","structured_outputs"],"msg":"Extra inputs are not permitted"}]}`, chat.CodeFormatKindUnsupported},
		{500,
			`{"error":{"message":"[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}]","type":"internal_server_error"}}`, chat.CodeFormatKindUnsupported},
		{400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"output_config.format: Extra inputs are not permitted"}}`, chat.CodeFormatKindUnsupported},
		{400, `{"error":{"message":"messages: the roles must alternate"}}`, ""},
		{400, `{"error":{"message":"Invalid schema for function 'get_weather'"}}`, ""},
		{429, `{"error":{"message":"tools are not supported on this plan right now"}}`, ""},
	} {
		e := DecodeError(tc.status, nil, []byte(tc.body))
		if e.Code != tc.code && !(tc.code == "" && !strings.HasSuffix(e.Code, "_unsupported")) {
			t.Errorf("%s: code %q, want %q", tc.body, e.Code, tc.code)
		}
	}
}
