package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/weburl"
)

// The mutex of values guards what is known of the values that are one for all nodes; it is held over no call.

// valuesFolder is where a node keeps what it knows of a crawl of several partitions and is of none of them, beside the stores.
const valuesFolder = "values"

// valuesFor is how long an engine that does not answer is waited for, before a value counts as not stored.
const valuesFor = 30 * time.Second

// values are those of a whole crawl at one of its nodes: what is one for all nodes lies in the engine, all others in files of this one. The mutex
// guards what is known.
type values struct {
	engine cluster.Engine
	times  cluster.Times
	dir    string
	owns   func(weburl.URL) bool // whether a host's partition is here

	mu    sync.Mutex
	known map[string][]byte // what is one for all, as last seen
}

// Value implements scheduler.Values.
func (v *values) Value(ctx context.Context, name string) (value []byte, err error) {
	if partitioned.Shared(name) {
		err = v.patiently(ctx, func() error {
			_, err := shared.Value(ctx, v.engine, valueName(name), &value)
			if last, known := v.last(name); known && err != nil {
				value, err = last, nil
			}
			return err
		})
		if err == nil {
			v.saw(name, value)
		}
		return value, err
	}
	value, err = os.ReadFile(v.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return value, err
}

// SetValue implements scheduler.Values. Of what is one for all, the last word counts.
func (v *values) SetValue(ctx context.Context, name string, value []byte) error {
	if !partitioned.Shared(name) {
		return v.write(v.path(name), value)
	}
	err := v.patiently(ctx, func() error {
		var before []byte
		at, err := shared.Value(ctx, v.engine, valueName(name), &before)
		if err == nil && name == policy.MovesName {
			value, err = v.mergeMoves(before, value)
		}
		if err != nil || at != 0 && bytes.Equal(before, value) {
			return err
		}
		return shared.SetValue(ctx, v.engine, valueName(name), at, value)
	})
	if err == nil {
		v.saw(name, value)
	}
	return err
}

// last is what was seen last of a value, if it was: while the engine does not answer nobody can have changed it.
func (v *values) last(name string) (value []byte, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, known = v.known[name]
	return value, known
}

func (v *values) saw(name string, value []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil {
		v.known = map[string][]byte{}
	}
	v.known[name] = value
}

// mergeMoves has each node tell of the sites that it has, since it visits their home pages.
func (v *values) mergeMoves(before, mine []byte) ([]byte, error) {
	var all, own map[string]json.RawMessage
	for text, into := range map[*[]byte]*map[string]json.RawMessage{&before: &all, &mine: &own} {
		if len(*text) == 0 {
			continue
		}
		if err := json.Unmarshal(*text, into); err != nil {
			return nil, err
		}
	}
	has := func(root string) bool {
		u, err := weburl.Parse(root)
		return err == nil && v.owns(u)
	}
	merged := map[string]json.RawMessage{}
	for root, move := range all {
		if !has(root) {
			merged[root] = move
		}
	}
	for root, move := range own {
		if has(root) {
			merged[root] = move
		}
	}
	return json.Marshal(merged)
}

// patiently asks the engine again for what passes by itself.
func (v *values) patiently(ctx context.Context, ask func() error) error {
	for began := time.Now(); ; {
		err := ask()
		passes := errors.Is(err, cluster.ErrUnavailable) || errors.Is(err, cluster.ErrInDoubt) || errors.Is(err, cluster.ErrBusy) || errors.Is(err, shared.ErrChanged)
		if !passes || time.Since(began) > valuesFor {
			return err
		}
		if ended := (cluster.SystemClock{}).Sleep(ctx, v.times.Retry); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

func valueName(name string) string { return "crawl/" + name }

func (v *values) path(name string) string { return valuePath(v.dir, name) }

// valuePath is the file of a value.
func valuePath(dir, name string) string { return filepath.Join(dir, url.PathEscape(name)) }

// write replaces a file, or removes it where nothing is to be kept.
func (v *values) write(path string, value []byte) error {
	if len(value) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(v.dir, 0o750); err != nil {
		return err
	}
	return writeOver(path, value)
}
