package indexer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// action is an action of a _bulk request.
type action struct {
	op        string // index or delete
	index, id string
	version   int64           // external_gte; -1 for none
	source    json.RawMessage // nil for delete
}

// maxID is the limit of _id, in bytes.
const maxID = 512

// parseBulk parses a body strictly: one line an action, the next its document, each ended by a line feed.
func parseBulk(body []byte, index string) ([]action, error) {
	if len(body) == 0 {
		return nil, badRequest("request body is required")
	}
	if body[len(body)-1] != '\n' {
		return nil, badRequest("The bulk request must be terminated by a newline [\\n]")
	}
	var out []action
	for n := 1; len(body) > 0; n++ {
		var line []byte
		line, body = cutLine(body)
		a, err := parseAction(line, index)
		if err != nil {
			return nil, badRequest("Malformed action/metadata line [%d]: %v", n, err)
		}
		if a.op == "index" {
			if len(body) == 0 {
				return nil, badRequest("Malformed action/metadata line [%d]: the document after it is missing", n)
			}
			n++
			a.source, body = cutLine(body)
		}
		out = append(out, a)
	}
	return out, nil
}

func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest
}

func parseAction(line []byte, index string) (action, error) {
	type metadata struct {
		Index       string       `json:"_index"`
		ID          *string      `json:"_id"`
		Version     *json.Number `json:"version"`
		VersionType string       `json:"version_type"`
	}
	var ops map[string]json.RawMessage
	if err := json.Unmarshal(line, &ops); err != nil {
		return action{}, err
	}
	a := action{index: index, version: -1}
	var m metadata
	for op, raw := range ops {
		if len(ops) != 1 || op != "index" && op != "delete" {
			return a, fmt.Errorf("want index or delete, found %d members, such as %s", len(ops), quote(op))
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&m); err != nil {
			return a, err
		}
		a.op = op
	}
	switch {
	case a.op == "":
		return a, fmt.Errorf("want index or delete, found none")
	case m.ID == nil || *m.ID == "":
		return a, fmt.Errorf("this receiver requires an _id")
	case len(*m.ID) > maxID:
		return a, fmt.Errorf("id [%s] is too long, must be no longer than %d bytes but was: %d", quote(*m.ID), maxID, len(*m.ID))
	case (m.Version == nil) != (m.VersionType == ""), m.VersionType != "" && m.VersionType != "external_gte":
		return a, fmt.Errorf("version requires version_type external_gte")
	}
	if m.Index != "" {
		a.index = m.Index
	}
	a.id = *m.ID
	if m.Version != nil {
		n, err := strconv.ParseInt(m.Version.String(), 10, 64)
		if err != nil || n < 0 {
			return a, fmt.Errorf("illegal version value [%s] for version type [EXTERNAL_GTE]", m.Version)
		}
		a.version = n
	}
	return a, nil
}

// newBulkDocument returns the document of an action's source.
func newBulkDocument(a action, version int64) (*document, error) {
	fields := map[string]any{}
	if err := json.Unmarshal(a.source, &fields); err != nil {
		return nil, fmt.Errorf("failed to parse: %w", err)
	}
	d, err := fromFields(fields)
	if err != nil {
		return nil, err
	}
	if d.URL == "" {
		d.URL = a.id
	}
	d.Stamp = strconv.FormatInt(version, 10)
	return d, nil
}

// fromFields returns a document from a crawler's JSON. Other fields become metas.
func fromFields(fields map[string]any) (*document, error) {
	d := &document{}
	metas := map[string][]string{}
	own := map[string]*string{"url": &d.URL, "title": &d.Title, "text": &d.Text, "source": &d.Source, "content_type": &d.ContentType}
	for name, value := range fields {
		if name == "metas" {
			object, ok := value.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("object mapping for [metas] tried to parse field [metas] as object, but found a concrete value")
			}
			for key, v := range object {
				metas[key] = append(metas[key], stringsOf(v)...)
			}
			continue
		}
		values := stringsOf(value)
		if place, ok := own[name]; ok && len(values) > 0 {
			*place = values[0]
		} else if name != "content" {
			metas[name] = append(metas[name], values...)
		}
	}
	if len(d.Text) > maxText {
		d.Text = strings.ToValidUTF8(d.Text[:maxText], "") // drops half a character
	}
	for _, values := range metas {
		d.MetaValues = append(d.MetaValues, values...)
	}
	slices.Sort(d.MetaValues)
	encoded, err := json.Marshal(metas)
	d.Metas = string(encoded)
	return d, err
}

func stringsOf(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, stringsOf(one)...)
		}
		return out
	case map[string]any:
		b, _ := json.Marshal(v) // it came from JSON
		return []string{string(b)}
	}
	return []string{fmt.Sprint(v)}
}

// graves keeps the versions of deleted documents for a while, as indexers do.
type graves map[string]grave

type grave struct {
	version int64
	at      time.Time
}

const (
	graveAge  = time.Minute
	maxGraves = 100_000
)

func (g graves) note(id string, version int64, deleted bool) {
	if !deleted {
		delete(g, id)
		return
	}
	now := time.Now()
	if len(g) >= maxGraves {
		for old, grave := range g { // makes room for many, so that this is rare
			if now.Sub(grave.at) > graveAge || len(g) > maxGraves/2 {
				delete(g, old)
			}
		}
	}
	g[id] = grave{version, now}
}

func (g graves) version(id string) (int64, bool) {
	grave, ok := g[id]
	if !ok || time.Since(grave.at) > graveAge {
		return 0, false
	}
	return grave.version, true
}
