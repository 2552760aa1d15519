package indexer

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
)

// templatesKey is the internal key of the index templates, as JSON by name.
const templatesKey = "sextant:templates"

// maxTemplates bounds the number of templates.
const maxTemplates = 100

func (s *Server) templates() (map[string]json.RawMessage, error) {
	stored, err := s.store.index.GetInternal([]byte(templatesKey))
	all := map[string]json.RawMessage{}
	if err == nil && len(stored) > 0 {
		err = json.Unmarshal(stored, &all)
	}
	return all, err
}

func (s *Server) template(x *exchange) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	all, err := s.templates()
	if err != nil {
		return nil, err
	}
	found, ok := all[x.PathValue("name")]
	if !ok {
		return nil, &refusal{status: http.StatusNotFound, words: "index template matching [" + x.PathValue("name") + "] not found"}
	}
	return map[string]any{"index_templates": []any{map[string]any{"name": x.PathValue("name"), "index_template": found}}}, nil
}

func (s *Server) putTemplate(x *exchange) (any, error) {
	body, done, err := s.readBody(x.Request)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := checkTemplate(body); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	all, err := s.templates()
	if err != nil {
		return nil, err
	}
	name := x.PathValue("name")
	if _, known := all[name]; !known && len(all) >= maxTemplates {
		return nil, badRequest("there are already %d index templates", maxTemplates)
	}
	all[name] = body
	encoded, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"acknowledged": true}, s.store.index.SetInternal([]byte(templatesKey), encoded)
}

// checkTemplate checks the members of a composable template and the types of fields that a crawler may use.
func checkTemplate(body []byte) error {
	type field struct {
		Type            string                     `json:"type"`
		IgnoreAbove     int                        `json:"ignore_above"`
		IgnoreMalformed bool                       `json:"ignore_malformed"`
		Fields          map[string]json.RawMessage `json:"fields"`
		Properties      map[string]json.RawMessage `json:"properties"`
	}
	var t struct {
		IndexPatterns []string `json:"index_patterns"`
		Priority      int      `json:"priority"`
		Template      struct {
			Settings json.RawMessage `json:"settings"`
			Mappings struct {
				Dynamic    json.RawMessage  `json:"dynamic"`
				Properties map[string]field `json:"properties"`
			} `json:"mappings"`
		} `json:"template"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return badRequest("failed to parse the index template: %v", err)
	}
	if len(t.IndexPatterns) == 0 {
		return badRequest("Required [index_patterns]")
	}
	types := []string{"keyword", "text", "date", "integer", "long", "boolean", "binary", "flattened", "flat_object", "object", "nested"}
	for name, f := range t.Template.Mappings.Properties {
		if !slices.Contains(types, f.Type) {
			return badRequest("No handler for type [%s] declared on field [%s]", f.Type, name)
		}
	}
	return nil
}
