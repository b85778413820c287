package openapi

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// firstRequest is one that a reader can copy.
const firstRequest = `curl -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d '{"name":"Trp-cage","sequences":[{"proteinChain":{"sequence":"DAYAQWLKDGGPSSGRPPPS"}}],
       "params":{"modelName":"mini"}}' \
  $URL/v1/jobs`

// reference renders the contents, the operations, the notifications and the objects of a document.
func (d docSpec) reference() g.Node {
	return h.Div(h.Class("reference"),
		g.Map(strings.Split(d.Info.Description, "\n\n"), func(s string) g.Node { return h.P(g.Text(s)) }),
		h.P(
			g.Text("The same for programs: "), h.A(h.Href("/openapi.json"), g.Text("openapi.json")),
			g.Text(" (OpenAPI 3.1)."),
		),
		h.Pre(h.Code(g.Text(firstRequest))),
		h.Nav(h.Aria("label", "Contents"), d.eachTag(func(tag string, operations []docOperation) g.Node {
			return g.Group{h.H2(g.Text(tag)), h.Ul(g.Map(operations, docOperation.entry))}
		})),
		h.H2(g.Text("Operations")),
		d.eachTag(func(_ string, operations []docOperation) g.Node { return g.Map(operations, d.operation) }),
		h.H2(g.Text("Notifications")),
		h.P(g.Text("The requests that the service posts to webhooks.")),
		g.Map(d.notifications(), d.operation),
		h.H2(g.Text("Objects")),
		eachKey(d.Components.Schemas, object),
	)
}

// eachTag renders each section of the document with its operations.
func (d docSpec) eachTag(node func(tag string, operations []docOperation) g.Node) g.Node {
	var all g.Group
	for _, tag := range d.Tags {
		all = append(all, node(tag.Name, d.operations(tag.Name)))
	}
	return all
}

// eachKey renders the entries of a map in the order of their keys.
func eachKey[V any](m map[string]V, node func(key string, value V) g.Node) g.Node {
	var all g.Group
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, node(key, m[key]))
	}
	return all
}

// entry renders an operation in the contents.
func (o docOperation) entry() g.Node {
	return h.Li(
		h.A(h.Href("#"+o.OperationID), h.Code(h.Span(h.Class("method"), g.Text(o.Method)), g.Text(" "+o.Path))),
		g.Text(" "+o.Summary),
	)
}

// operation renders an operation or a notification: its parameters, its body with examples, and its responses.
func (d docSpec) operation(o docOperation) g.Node {
	summary := o.Summary + "."
	if o.anonymous() {
		summary += " Needs no credential."
	}
	return h.Section(h.ID(o.OperationID),
		h.H3(h.Code(g.Text(o.Method+" "+o.Path))),
		h.P(g.Text(summary)),
		g.If(len(o.Parameters) > 0, table(g.Map(o.Parameters, parameter), "Parameter", "In", "Type", "Meaning")),
		o.body(),
		h.Ul(eachKey(o.Responses, func(code string, r docResponse) g.Node { return response(code, d.response(r)) })),
	)
}

// parameter renders the row of a parameter.
func parameter(p docParameter) g.Node {
	in := p.In
	if p.Required {
		in += ", required"
	}
	return h.Tr(
		h.Td(h.Code(g.Text(p.Name))),
		h.Td(g.Text(in)),
		h.Td(g.Text(typeOf(p.Schema))),
		h.Td(g.Text(p.Description)),
	)
}

// body renders the type of an operation's body and its examples; nothing if it has no body.
func (o docOperation) body() g.Node {
	if o.RequestBody == nil {
		return nil
	}
	title := "Body: "
	if !o.RequestBody.Required {
		title = "Body (may be left out): "
	}
	var types, examples g.Group
	for _, media := range slices.Sorted(maps.Keys(o.RequestBody.Content)) {
		content := o.RequestBody.Content[media]
		types = append(types, link(refOf(content.Schema)))
		examples = append(examples, eachKey(content.Examples, func(title string, e docExample) g.Node {
			return h.Details(h.Summary(g.Text("Example: "+title)), h.Pre(indented(e.Value)))
		}))
	}
	return g.Group{h.P(g.Text(title), types), examples}
}

// response renders a response with what it contains.
func response(code string, r docResponse) g.Node {
	contents := eachKey(r.Content, func(media string, c docContent) g.Node {
		if name := refOf(c.Schema); name != "" {
			return g.Group{g.Text(": "), link(name)}
		}
		return g.Text(": " + media + " " + c.Schema.Description)
	})
	return h.Li(h.Code(g.Text(code)), g.Text(" "+r.Description), contents)
}

// object renders a schema of the components: its fields, or its type if it has none.
func object(name string, s docSchema) g.Node {
	description := typeOf(s)
	if s.Description != "" {
		description += ". " + s.Description
	}
	return h.Section(h.ID(name),
		h.H3(g.Text(name)),
		g.If(len(s.Properties) == 0, h.P(g.Text(description))),
		g.If(len(s.Properties) > 0, table(eachKey(s.Properties, func(field string, f docSchema) g.Node {
			return property(field, f, slices.Contains(s.Required, field))
		}), "Field", "Type", "Meaning")),
	)
}

// property renders the row of a field.
func property(name string, s docSchema, required bool) g.Node {
	kind := g.Text(typeOf(s))
	if ref := refOf(s); ref != "" {
		kind = h.A(h.Href("#"+ref), kind)
	}
	example := exampleOf(s)
	return h.Tr(
		h.Td(h.Code(g.Text(name)), g.If(required, g.Group{g.Text(" "), soft("required")})),
		h.Td(kind),
		h.Td(g.Text(s.Description), g.If(example != "", g.Group{g.Text(" Example: "), h.Code(g.Text(example))})),
	)
}

// table renders rows below column titles, in a box that scrolls on narrow screens.
func table(rows g.Node, titles ...string) g.Node {
	return h.Div(h.Class("scroll"), h.Table(
		h.THead(h.Tr(g.Map(titles, func(t string) g.Node { return h.Th(h.Scope("col"), g.Text(t)) }))),
		h.TBody(rows),
	))
}

// link renders a link to an object; nothing if it has no name.
func link(name string) g.Node {
	return g.If(name != "", h.A(h.Href("#"+name), g.Text(name)))
}

// soft renders a text that matters less.
func soft(text string) g.Node { return h.Span(h.Class("soft"), g.Text(text)) }

// indented renders JSON over several lines. The page fails if the text is none.
func indented(value json.RawMessage) g.Node {
	return g.NodeFunc(func(w io.Writer) error {
		var b bytes.Buffer
		if err := json.Indent(&b, value, "", "  "); err != nil {
			return err
		}
		return g.Text(b.String()).Render(w)
	})
}
