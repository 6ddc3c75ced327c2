package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/tool/dir"
	"wield/tool/httpcall"
)

func newToolAddCmd(app *cli.App, file *string) *cobra.Command {
	return cli.Group("add", "Add a tool to the tool directory",
		`Adds a program, an HTTP request or an OpenAPI document to a tool directory. It is checked first, and stays
disabled until wield tool enable.`,
		`  wield tool add file ./count_words
  wield tool add http get_weather 'https://api.example.com/weather?city={city}' --desc Weather
  wield tool add openapi library.yaml --tag books`,
		newToolAddFileCmd(app, file), newToolAddHTTPCmd(app, file), newToolAddOpenAPICmd(app, file))
}

// maxToolFile bounds a program that is copied, so that a wrong path is not read whole.
const maxToolFile = 64 << 20

func newToolAddFileCmd(app *cli.App, file *string) *cobra.Command {
	var p placement
	cmd := &cobra.Command{
		Use:     "file PROGRAM",
		Short:   "Add a program",
		Long:    "Copies an executable file that describes itself as a tool into a tool directory.",
		Example: "  wield tool add file ./count_words",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := os.Stat(args[0])
			switch {
			case err != nil:
				return cli.UsageErrorf("%w", err)
			case !info.Mode().IsRegular() || info.Size() > maxToolFile:
				return cli.UsageErrorf("%s is no file of at most %d MiB", args[0], maxToolFile>>20)
			case info.Mode()&0o111 == 0:
				return cli.UsageErrorf("%s is not executable: chmod +x %s", args[0], args[0])
			}
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			temp, err := os.MkdirTemp("", "wield-add-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(temp)
			f := newFile{filepath.Base(args[0]), string(data), 0o755}
			if err := writeNew(filepath.Join(temp, f.name), f); err != nil {
				return err
			}
			tools, err := dir.Load(cmd.Context(), temp, dir.Options{Getenv: app.Getenv})
			if err != nil {
				return cli.UsageErrorf("%s", strings.ReplaceAll(err.Error(), temp+string(filepath.Separator), ""))
			}
			if len(tools) == 0 {
				return cli.UsageErrorf("%s holds no tool", args[0])
			}
			warnLint(app, tools)
			if p.dryRun {
				fmt.Fprintf(app.Stdout, "would add the tool %s\n", tools[0].Name())
				return nil
			}
			return p.write(app, *file, f)
		},
	}
	p.flags(cmd)
	return cmd
}

func newToolAddHTTPCmd(app *cli.App, file *string) *cobra.Command {
	var p placement
	var about, bearer, body, result string
	var params, query, headers []string
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "http NAME URL",
		Short: "Add an HTTP request",
		Long: `Writes NAME.http.yaml. URL may start with a method, as in 'POST https://api.example.com/notes'; the
default is GET. Each {PARAM} in the URL, a header or the body becomes a required parameter. Write
secrets as env:NAME or file:PATH.`,
		Example: `  wield tool add http get_weather 'https://api.example.com/weather?city={city}' --param city=name --desc Weather
  wield tool add http get_notes https://api.example.com/notes/{id} --param id:integer=number --bearer env:TOKEN --desc Notes`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkToolName(args[0]); err != nil {
				return err
			}
			if about == "" {
				return cli.UsageErrorf("--desc is missing: without it no model knows what the tool is for")
			}
			method, address, ok := strings.Cut(args[1], " ")
			if !ok {
				method, address = "GET", args[1]
			}
			doc := yaml.MapSlice{{Key: "description", Value: about}, {Key: "method", Value: strings.ToUpper(method)},
				{Key: "url", Value: strings.TrimSpace(address)}}
			declared, example, err := declare(params, append(append([]string{address, body}, query...), headers...))
			if err != nil {
				return err
			}
			if example != "" && !strings.Contains(about, "{") {
				doc[0].Value = strings.TrimSuffix(about, ".") + ". Example: " + example
			}
			put := func(key string, value any, is bool) {
				if is {
					doc = append(doc, yaml.MapItem{Key: key, Value: value})
				}
			}
			queryPairs, err := pairsOf("--query", "=", query)
			if err != nil {
				return err
			}
			headerPairs, err := pairsOf("--header", ":", headers)
			if err != nil {
				return err
			}
			put("params", declared, len(declared) > 0)
			put("query", queryPairs, len(query) > 0)
			put("headers", headerPairs, len(headers) > 0)
			put("bearer", bearer, bearer != "")
			put("body", body, body != "")
			put("result", result, result != "")
			put("read_only", true, readOnly)
			return p.addRequests(app, *file, args[0]+config.RequestSuffix, doc)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&about, "desc", "", "description for the model")
	fl.StringArrayVar(&params, "param", nil, "description of a parameter, as NAME=TEXT or NAME:TYPE=TEXT; repeatable")
	fl.StringArrayVar(&query, "query", nil, "query parameter, as `NAME=VALUE`; repeatable")
	fl.StringArrayVar(&headers, "header", nil, "HTTP `HEADER`, as 'NAME: VALUE'; repeatable")
	fl.StringVar(&bearer, "bearer", "", "bearer token: `REF` is env:NAME or file:PATH")
	fl.StringVar(&body, "body", "", "request body, as `JSON`")
	fl.StringVar(&result, "result", "", "JSON `POINTER` to the result within the response")
	fl.BoolVar(&readOnly, "read-only", false, "the request changes nothing")
	p.flags(cmd)
	return cmd
}

// declare returns the parameters that the texts have places for, with the meanings that are given, and an example of
// them.
func declare(given, texts []string) (params yaml.MapSlice, example string, err error) {
	var names []string
	about, kinds := map[string]string{}, map[string]string{}
	for _, g := range given {
		name, text, ok := strings.Cut(g, "=")
		name, kind, _ := strings.Cut(name, ":")
		if !ok || name == "" {
			return nil, "", cli.UsageErrorf("--param %q is no NAME=TEXT", g)
		}
		names = append(names, name)
		about[name], kinds[name] = text, kind
	}
	for _, text := range texts {
		for _, name := range httpcall.Places(text) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	samples := map[string]string{"integer": "1", "number": "1.5", "boolean": "true", "array": "[]", "object": "{}"}
	var parts []string
	for _, name := range names {
		words := strings.ReplaceAll(name, "_", " ")
		if about[name] == "" {
			about[name] = words
		}
		p := yaml.MapSlice{{Key: "description", Value: about[name]}, {Key: "required", Value: true}}
		sample := cli.Quoted(words)
		if kind := kinds[name]; kind != "" {
			p = append(p, yaml.MapItem{Key: "type", Value: kind})
			if samples[kind] != "" {
				sample = samples[kind]
			}
		}
		params = append(params, yaml.MapItem{Key: name, Value: p})
		parts = append(parts, cli.Quoted(name)+": "+sample)
	}
	if parts != nil {
		example = "{" + strings.Join(parts, ", ") + "}"
	}
	return params, example, nil
}

// pairsOf takes the pairs of a flag apart.
func pairsOf(flag, separator string, list []string) (yaml.MapSlice, error) {
	var pairs yaml.MapSlice
	for _, item := range list {
		name, value, ok := strings.Cut(item, separator)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, cli.UsageErrorf("%s %q is no NAME%sVALUE", flag, item, separator)
		}
		pairs = append(pairs, yaml.MapItem{Key: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	return pairs, nil
}

// addRequests writes a file of requests, if tools can be made of it.
func (p *placement) addRequests(app *cli.App, file, name string, doc yaml.MapSlice) error {
	text, err := yaml.Marshal(doc)
	if err != nil {
		return err
	}
	tools, err := compose.ToolFile(name, text)
	if err != nil {
		if len(tools) == 0 {
			return cli.UsageErrorf("%w", err)
		}
		fmt.Fprintf(app.Stderr, "wield: %v\n", err)
	}
	warnLint(app, tools)
	if err := p.write(app, file, newFile{name, string(text), 0o644}); err != nil {
		return err
	}
	for _, t := range tools {
		fmt.Fprintf(app.Stdout, "tool %s\n", t.Name())
	}
	return nil
}

func newToolAddOpenAPICmd(app *cli.App, file *string) *cobra.Command {
	var p placement
	var name, server, prefix string
	var tags, operations, paths, methods, auth []string
	cmd := &cobra.Command{
		Use:   "openapi DOCUMENT",
		Short: "Add the operations of an OpenAPI document",
		Long: `Writes NAME.openapi.yaml, which refers to the document. Each operation becomes a tool, unless --tag,
--operation, --path or --method select some (* matches any characters). --auth sets the credentials
of a security scheme: SCHEME=env:TOKEN or SCHEME=USER:env:PASSWORD.`,
		Example: `  wield tool add openapi library.yaml
  wield tool add openapi library.yaml --operation 'list*' --auth key=env:LIBRARY_KEY --prefix lib_`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			doc, err := documentEntry(args[0], &name)
			if err != nil {
				return err
			}
			for _, one := range []struct{ key, value string }{{"server", server}, {"prefix", prefix}} {
				if one.value != "" {
					doc = append(doc, yaml.MapItem{Key: one.key, Value: one.value})
				}
			}
			for i := range methods {
				methods[i] = strings.ToUpper(methods[i])
			}
			for _, many := range []struct {
				key  string
				list []string
			}{{"tags", tags}, {"operations", operations}, {"paths", paths}, {"methods", methods}} {
				if len(many.list) > 0 {
					doc = append(doc, yaml.MapItem{Key: many.key, Value: many.list})
				}
			}
			answers, err := credentialsOf(auth)
			if err != nil {
				return err
			}
			if len(answers) > 0 {
				doc = append(doc, yaml.MapItem{Key: "auth", Value: answers})
			}
			return p.addRequests(app, *file, name+config.OpenAPISuffix, doc)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&name, "name", "", "`NAME` of the file (default: that of the document)")
	fl.StringVar(&server, "server", "", "base `URL` instead of that of the document")
	fl.StringVar(&prefix, "prefix", "", "prefix for the name of each tool")
	fl.StringArrayVar(&tags, "tag", nil, "only operations with this tag; repeatable")
	fl.StringArrayVar(&operations, "operation", nil, "only operations of this name; repeatable")
	fl.StringArrayVar(&paths, "path", nil, "only operations on this path; repeatable")
	fl.StringArrayVar(&methods, "method", nil, "only operations with this method; repeatable")
	fl.StringArrayVar(&auth, "auth", nil, "credentials for a security scheme; repeatable")
	p.flags(cmd)
	return cmd
}

// documentEntry begins the file for a document, and names it after the document unless it has a name.
func documentEntry(document string, name *string) (yaml.MapSlice, error) {
	document, err := filepath.Abs(document)
	if err != nil {
		return nil, err
	}
	if *name == "" {
		base, _, _ := strings.Cut(filepath.Base(document), ".")
		*name = strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(base))
	}
	return yaml.MapSlice{{Key: "document", Value: document}}, checkToolName(*name)
}

// addDocument adds all operations of a document.
func (p *placement) addDocument(app *cli.App, file, document string) error {
	var name string
	doc, err := documentEntry(document, &name)
	if err != nil {
		return err
	}
	return p.addRequests(app, file, name+config.OpenAPISuffix, doc)
}

// credentialsOf reads what --auth says.
func credentialsOf(list []string) (yaml.MapSlice, error) {
	var answers yaml.MapSlice
	for _, item := range list {
		scheme, value, ok := strings.Cut(item, "=")
		if !ok || scheme == "" || value == "" {
			return nil, cli.UsageErrorf("--auth %q is neither SCHEME=env:TOKEN nor SCHEME=USER:env:PASSWORD", item)
		}
		answer := yaml.MapSlice{{Key: "token", Value: value}}
		for _, kind := range []string{":env:", ":file:"} {
			if user, secret, ok := strings.Cut(value, kind); ok {
				answer = yaml.MapSlice{{Key: "user", Value: user}, {Key: "password", Value: kind[1:] + secret}}
			}
		}
		answers = append(answers, yaml.MapItem{Key: scheme, Value: answer})
	}
	return answers, nil
}
