package openapi

import (
	"encoding/base64"
	"strings"

	"wield/tool/httpcall"
)

// security returns what shows that the operation may be called: the first of the document's alternatives for which
// there are credentials. Secrets are texts that stand in none of the fields as a whole.
func (op *operation) security() (fields []httpcall.Field, secrets []string, err error) {
	requirements := op.node.get("security")
	if requirements == nil {
		requirements = op.doc.root.get("security")
	}
	if requirements == nil || len(requirements.items) == 0 {
		return nil, nil, nil
	}
	var missing []string
	optional := false
	for _, alternative := range requirements.items {
		var names []string
		for _, m := range alternative.members {
			names = append(names, m.name)
		}
		if len(names) == 0 {
			optional = true
			continue
		}
		fields, secrets, lacks, err := op.credentials(names)
		if err != nil {
			return nil, nil, err
		}
		if lacks == nil {
			return fields, secrets, nil
		}
		missing = append(missing, strings.Join(lacks, " and "))
	}
	if optional {
		return nil, nil, nil
	}
	return nil, nil, op.doc.fail(requirements.line, "%s needs credentials for %s: give them under auth", op.name,
		strings.Join(missing, ", or "))
}

// credentials returns the fields for some schemes; lacks names those for which there is no credential.
func (op *operation) credentials(names []string) (fields []httpcall.Field, secrets, lacks []string, err error) {
	for _, name := range names {
		c, ok := op.doc.Auth[name]
		if !ok {
			lacks = append(lacks, name)
			continue
		}
		n := op.doc.root.get("components").get("securitySchemes").get(name)
		if n == nil {
			return nil, nil, nil, op.doc.fail(op.node.line, "%s: there is no security scheme %s", op.name, name)
		}
		scheme, err := op.doc.resolve(n)
		if err != nil {
			return nil, nil, nil, err
		}
		f, more, err := op.credential(name, scheme, c)
		if err != nil {
			return nil, nil, nil, err
		}
		fields, secrets = append(fields, f), append(secrets, more...)
	}
	return fields, secrets, lacks, nil
}

// credential returns the field that answers one scheme.
func (op *operation) credential(name string, scheme *docNode, c Credential) (httpcall.Field, []string, error) {
	authorization := func(kind, secret string, more ...string) (httpcall.Field, []string, error) {
		return httpcall.Field{In: httpcall.InHeader, Name: "Authorization", Secret: kind + " " + secret},
			append(more, secret), nil
	}
	kind := scheme.str("type")
	if kind == "http" {
		kind = strings.ToLower(scheme.str("scheme"))
	}
	switch {
	case kind == "basic" && c.Password != "":
		return authorization("Basic", base64.StdEncoding.EncodeToString([]byte(c.User+":"+c.Password)), c.Password)
	case (kind == "bearer" || kind == "oauth2" || kind == "openIdConnect") && c.Token != "":
		return authorization("Bearer", c.Token)
	case kind == "apiKey" && c.Token != "" && scheme.str("name") != "":
		return httpcall.Field{In: httpcall.In(scheme.str("in")), Name: scheme.str("name"), Secret: c.Token}, nil, nil
	case kind == "basic":
		return httpcall.Field{}, nil, op.doc.fail(scheme.line, "the scheme %s wants a user and a password", name)
	case kind == "bearer" || kind == "oauth2" || kind == "openIdConnect" || kind == "apiKey":
		return httpcall.Field{}, nil, op.doc.fail(scheme.line, "the scheme %s wants a token", name)
	}
	return httpcall.Field{}, nil, op.doc.fail(scheme.line, "the scheme %s of type %q is not supported", name, kind)
}
