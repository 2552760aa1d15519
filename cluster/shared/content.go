package shared

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/sextant-crawler/sextant/cluster"
)

const (
	// MaxContent is how long a configuration may be, and maxPacked how long it may be packed: the engine
	// holds two at a time.
	MaxContent = 64 << 20
	maxPacked  = 16 << 20
	partBytes  = cluster.MaxStepBytes / 2
)

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// upload puts the parts of a configuration into the engine and returns them as conditions: until they are named by a proposal
// somebody who cleans up may take them away.
func upload(ctx context.Context, e cluster.Engine, id string, content []byte) (parts []cluster.Condition, err error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if len(content) > MaxContent || packed.Len() > maxPacked {
		return nil, fmt.Errorf("%w: it has %d bytes, %d packed: at most %d and %d can be shared; put long lists into files", ErrRefused, len(content), packed.Len(), MaxContent, maxPacked)
	}
	for n, rest := 0, packed.Bytes(); len(rest) > 0; n++ {
		part := rest[:min(partBytes, len(rest))]
		rest = rest[len(part):]
		key := partKey(id, n)
		out, err := e.Commit(ctx, cluster.Step{If: []cluster.Condition{{Key: key}}, Then: []cluster.Write{{Key: key, Value: part}}})
		if err != nil {
			return nil, err
		}
		if !out.Taken {
			return nil, fmt.Errorf("key %s of the engine is there already", key)
		}
		parts = append(parts, cluster.Condition{Key: key, Revision: out.Revision})
	}
	return parts, nil
}

// errParts says that a configuration is not whole in the engine.
var errParts = errors.New("it is not whole in the engine")

// download reads a configuration, and proves that it is the one that was written.
func download(ctx context.Context, e cluster.Engine, v *Version) ([]byte, error) {
	var packed bytes.Buffer
	for n := range v.Parts {
		all, err := e.Read(ctx, partKey(v.ID, n))
		if err != nil {
			return nil, err
		}
		if all.Keys[0].Revision == 0 {
			return nil, fmt.Errorf("configuration %d: %w: part %d is missing", v.Number, errParts, n)
		}
		packed.Write(all.Keys[0].Value)
	}
	content, err := unpack(&packed)
	if err != nil {
		return nil, fmt.Errorf("configuration %d: %w: %w", v.Number, errParts, err)
	}
	if sumOf(content) != v.Sum {
		return nil, fmt.Errorf("configuration %d: %w: its checksum is another one", v.Number, errParts)
	}
	return content, nil
}

func unpack(packed io.Reader) ([]byte, error) {
	r, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, MaxContent+1))
	if err == nil && len(content) > MaxContent {
		err = fmt.Errorf("more than %d bytes", MaxContent)
	}
	return content, err
}

// sweep are the writes that remove all parts but those of two configurations.
func sweep(a, b string) []cluster.Write {
	if b < a {
		a, b = b, a
	}
	var all []cluster.Write
	from, end := cluster.Folder("shared/part/")
	for _, id := range []string{a, b} {
		if id == "" {
			continue
		}
		of, behind := cluster.Folder(partFolder(id))
		if from < of {
			all = append(all, cluster.Write{Key: from, To: of, Remove: true})
		}
		from = behind
	}
	return append(all, cluster.Write{Key: from, To: end, Remove: true})
}
