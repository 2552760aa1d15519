package indexer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	index "github.com/blevesearch/bleve_index_api"
	bolterrors "go.etcd.io/bbolt/errors"
)

// store is the Bleve index. The Bleve identity of a document is CONNECTOR/URI.
type store struct {
	index bleve.Index
}

// The internal key of the synced states of all connectors, as JSON.
const statesKey = "sextant:connectors"

// The fields of a document in the index.
const (
	fieldConnector = "connector"
	fieldURL       = "url"
	fieldStamp     = "stamp"
	fieldTitle     = "title"
	fieldText      = "text"
	fieldSource    = "source"
	fieldType      = "content_type"
	fieldMetas     = "metas"       // JSON, stored
	fieldMetaWords = "meta_values" // analysed
)

// wordsAnalyzer keeps all words, so that a query can contain any word.
const wordsAnalyzer = "words"

// lockTimeout bounds the wait for an index that another process has open.
const lockTimeout = 200 * time.Millisecond

func openStore(dir string) (*store, error) {
	path := filepath.Join(dir, "bleve")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := createStore(dir, path); err != nil {
			return nil, fmt.Errorf("indexer: creating index %s: %w", path, err)
		}
	}
	idx, err := bleve.OpenUsing(path, map[string]any{"bolt_timeout": lockTimeout.String()})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("indexer: index %s is open in another process: stop that process, or use another directory: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("indexer: opening index %s: %w (if it is damaged, remove it and push everything again)", path, err)
	}
	return &store{index: idx}, nil
}

// createStore creates the index in a temporary place and moves it, because a crash between Bleve's steps would leave an
// unusable one.
func createStore(dir, path string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(dir, "bleve-new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // the rest is small and harmless
	schema, err := newMapping()
	if err != nil {
		return err
	}
	fresh := filepath.Join(temp, "bleve")
	idx, err := bleve.NewUsing(fresh, schema, scorch.Name, scorch.Name, nil)
	if err != nil {
		return err
	}
	if err := idx.Close(); err != nil {
		return err
	}
	err = os.Rename(fresh, path)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	return err
}

func newMapping() (mapping.IndexMapping, error) {
	schema := bleve.NewIndexMapping()
	err := schema.AddCustomAnalyzer(wordsAnalyzer, map[string]any{
		"type": custom.Name, "tokenizer": unicode.Name, "token_filters": []string{lowercase.Name},
	})
	if err != nil {
		return nil, err
	}
	schema.DefaultAnalyzer = wordsAnalyzer

	doc := bleve.NewDocumentStaticMapping()
	for _, name := range []string{fieldConnector, fieldURL, fieldStamp} {
		f := bleve.NewKeywordFieldMapping()
		f.Analyzer, f.Store, f.DocValues, f.SkipFreqNorm = keyword.Name, true, true, true
		f.IncludeInAll, f.IncludeTermVectors = false, false
		doc.AddFieldMappingsAt(name, f)
	}
	for _, name := range []string{fieldTitle, fieldText, fieldMetaWords} {
		f := bleve.NewTextFieldMapping()
		f.Analyzer, f.Store, f.DocValues = wordsAnalyzer, name != fieldMetaWords, false
		f.IncludeInAll, f.IncludeTermVectors = false, true
		doc.AddFieldMappingsAt(name, f)
	}
	for _, name := range []string{fieldSource, fieldType, fieldMetas} {
		f := bleve.NewTextFieldMapping()
		f.Index, f.Store, f.DocValues, f.IncludeInAll, f.IncludeTermVectors = false, true, false, false, false
		doc.AddFieldMappingsAt(name, f)
	}
	schema.DefaultMapping = doc
	schema.DefaultMapping.AddSubDocumentMapping("_all", bleve.NewDocumentDisabledMapping())
	return schema, nil
}

func documentID(connector, uri string) string { return connector + "/" + uri }

// connectors reads the synced states.
func (s *store) connectors() (map[string]*connector, error) {
	stored, err := s.index.GetInternal([]byte(statesKey))
	if err != nil {
		return nil, fmt.Errorf("indexer: reading the connectors: %w", err)
	}
	states := map[string]state{}
	if len(stored) > 0 {
		if err := json.Unmarshal(stored, &states); err != nil {
			return nil, fmt.Errorf("indexer: reading the connectors: %w", err)
		}
	}
	out := make(map[string]*connector, len(states))
	for name, st := range states {
		out[name] = newConnector(name, st)
	}
	return out, nil
}

// apply writes the pending operations of c and the states, atomically and durably: Bleve returns when its snapshot is
// on disk.
func (s *store) apply(c *connector, states map[string]state) error {
	batch := s.index.NewBatch()
	if len(c.roots) > 0 {
		err := s.walk(c.name, func(uri, _ string) error {
			if c.rootsCover(uri) {
				batch.Delete(documentID(c.name, uri))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for uri, d := range c.last {
		id := documentID(c.name, uri)
		if d == nil {
			batch.Delete(id)
		} else if err := batch.Index(id, d); err != nil {
			return fmt.Errorf("%s: %w", uri, err)
		}
	}
	encoded, err := json.Marshal(states)
	if err != nil {
		return err
	}
	batch.SetInternal([]byte(statesKey), encoded)
	return s.index.Batch(batch)
}

// walk calls f for every synced document of a connector, as of the start of the call, in any order.
func (s *store) walk(connector string, f func(uri, stamp string) error) (err error) {
	reader, err := s.reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	terms, err := reader.TermFieldReader(context.Background(), []byte(connector), fieldConnector, false, false, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, terms.Close()) }()
	values, err := reader.DocValueReader([]string{fieldURL, fieldStamp})
	if err != nil {
		return err
	}
	var found index.TermFieldDoc
	for {
		doc, err := terms.Next(found.Reset())
		if doc == nil || err != nil {
			return err
		}
		uri, stamp, err := identity(values, doc.ID)
		if err != nil {
			return err
		}
		if err := f(uri, stamp); err != nil {
			return err
		}
	}
}

func identity(values index.DocValueReader, id index.IndexInternalID) (uri, stamp string, err error) {
	err = values.VisitDocValues(id, func(field string, term []byte) {
		switch field {
		case fieldURL:
			uri = string(term)
		case fieldStamp:
			stamp = string(term)
		}
	})
	return uri, stamp, err
}

// stamps returns the stamps of the synced documents among the URIs.
func (s *store) stamps(connector string, uris []string) (_ map[string]string, err error) {
	reader, err := s.reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	values, err := reader.DocValueReader([]string{fieldStamp})
	if err != nil {
		return nil, err
	}
	found := make(map[string]string, len(uris))
	for _, uri := range uris {
		id, err := reader.InternalID(documentID(connector, uri))
		if err != nil {
			return nil, err
		}
		if id == nil {
			continue
		}
		_, stamp, err := identity(values, id)
		if err != nil {
			return nil, err
		}
		found[uri] = stamp
	}
	return found, nil
}

func (s *store) reader() (index.IndexReader, error) {
	inner, err := s.index.Advanced()
	if err != nil {
		return nil, err
	}
	reader, err := inner.Reader()
	if snapshot, ok := reader.(*scorch.IndexSnapshot); ok && snapshot == nil {
		return nil, errClosed // Bleve's result for a closed index
	}
	return reader, err
}

func (s *store) uris(connector string) ([]string, error) {
	var out []string
	err := s.walk(connector, func(uri, _ string) error {
		out = append(out, uri)
		return nil
	})
	slices.Sort(out)
	return out, err
}

func (s *store) count() (int, error) {
	n, err := s.index.DocCount()
	return int(n), err //nolint:gosec // no index has 2^63 documents
}

func (s *store) close() error { return s.index.Close() }
