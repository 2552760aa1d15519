package indexer

import (
	"encoding/json"
	"slices"
	"strings"
)

// gotDocument is a document in the response of _mget.
type gotDocument struct {
	Index  string         `json:"_index"`
	ID     string         `json:"_id"`
	Found  bool           `json:"found"`
	Source map[string]any `json:"_source,omitempty"`
}

// multiGet returns fields of documents. Only numbers keep their type.
func (s *Server) multiGet(x *exchange) (any, error) {
	body, done, err := s.readBody(x.Request)
	if err != nil {
		return nil, err
	}
	defer done()
	var asked struct {
		IDs []string `json:"ids"`
	}
	if err := json.Unmarshal(body, &asked); err != nil || len(asked.IDs) == 0 {
		return nil, badRequest("_mget: ids is missing, or no list of strings: %v", err)
	}
	fields := strings.Split(x.URL.Query().Get("_source_includes"), ",")
	docs := make([]gotDocument, 0, len(asked.IDs))
	for _, id := range asked.IDs {
		got := gotDocument{Index: x.PathValue("index"), ID: id}
		d, err := s.store.withID(x.Context(), elasticPrefix+got.Index, id)
		if err != nil {
			return nil, err
		}
		if got.Found = d != nil; got.Found {
			got.Source = map[string]any{}
			for name, values := range d.Metas {
				if slices.Contains(fields, name) && len(values) > 0 {
					got.Source[name] = json.RawMessage(values[0])
				}
			}
		}
		docs = append(docs, got)
	}
	return map[string]any{"docs": docs}, nil
}
