package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sextant-crawler/sextant/push"
)

// Document reads the document of an Add.
func Document(e push.Entry) (*push.Document, error) {
	var d push.Document
	if err := json.Unmarshal(e.Body, &d); err != nil {
		return nil, noDocument(err)
	}
	return &d, nil
}

func noDocument(err error) error {
	return fmt.Errorf("the outbox contains no valid document here: %w", err)
}

// Append writes the body of an entry on one line: unchanged if n is empty, otherwise as a document with the names of n.
func (n Names) Append(b *bytes.Buffer, e push.Entry) error {
	if len(n) == 0 {
		if err := json.Compact(b, e.Body); err != nil {
			return noDocument(err)
		}
		return nil
	}
	d, err := Document(e)
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(n.Fields(d, nil))
	b.Write(encoded)
	return err
}
