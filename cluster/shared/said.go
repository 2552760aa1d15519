package shared

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/cluster"
)

// How a node's own file stands to the configuration in force.
const (
	FileSame    = "same"
	FileOlder   = "older"   // it is an earlier version, as it was in force
	FileDiffers = "differs" // it was never in force as it is
)

// Said is what a node says of itself, for people.
type Said struct {
	Node    string `json:"node"`
	Version int64  `json:"version"` // that it goes by, or would; 0: none
	// Unfit says why it cannot use the version in force, and so takes nothing over.
	Unfit string `json:"unfit,omitempty"`
	// File is one of the words above about its own file, FileVersion the version that it is or was made from, 0 if it is none, and
	// FileSum its SHA-256.
	File        string `json:"file"`
	FileVersion int64  `json:"file_version"`
	FileSum     string `json:"file_sha256"`
	// FileWords say more of it, such as why it could not be written.
	FileWords string `json:"file_words,omitempty"`
	// Files are the SHA-256 of the files that Version names, by their paths, those below the folder of the configuration from there; "" of what is not
	// there. nil: they are not known.
	Files map[string]string `json:"files"`
}

// Others are the paths of the files that two nodes have and that differ, if both go by the same version.
func (s *Said) Others(of *Said) (paths []string) {
	if of == nil || s.Files == nil || of.Files == nil || s.Version != of.Version {
		return nil
	}
	for path, sum := range s.Files {
		if other, both := of.Files[path]; both && other != sum {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

const saidFolder = "node/"

// Say tells the others.
func Say(ctx context.Context, e cluster.Engine, s Said) error {
	var before Said
	at, err := Value(ctx, e, saidFolder+s.Node, &before)
	if err != nil || reflect.DeepEqual(before, s) {
		return err
	}
	return SetValue(ctx, e, saidFolder+s.Node, at, s)
}

// Overview is how the configuration stands in a cluster.
type Overview struct {
	Active Version `json:"active"` // Number 0: none yet
	// Proposed waits for nodes, or was refused after Active came into force; nil if there is none.
	Proposed *Version `json:"proposed,omitempty"`
	Nodes    []Said   `json:"nodes"` // also of some that are gone
}

// Look gives an overview. It does not wait.
func Look(ctx context.Context, e cluster.Engine) (o Overview, err error) {
	s, err := look(ctx, e)
	if err != nil {
		return o, err
	}
	o.Active, o.Nodes = s.active, []Said{}
	if s.proposed.Number > s.active.Number {
		o.Proposed = &s.proposed
	}
	folder, to := cluster.Folder(valueKey(saidFolder))
	v, err := cluster.ListAll(ctx, e, folder, to)
	if err != nil {
		return o, err
	}
	for _, kv := range v.Keys {
		one := Said{Node: strings.TrimPrefix(kv.Key, folder)}
		if err := kv.Decode(&one); err != nil {
			return o, err
		}
		o.Nodes = append(o.Nodes, one)
	}
	return o, nil
}

// Of is what a node said, nil if it said nothing.
func (o *Overview) Of(node string) *Said {
	for i := range o.Nodes {
		if o.Nodes[i].Node == node {
			return &o.Nodes[i]
		}
	}
	return nil
}

// UnfitOf says why a node cannot use the version in force, "" if it can, as far as it said.
func (o *Overview) UnfitOf(node string) string {
	if said := o.Of(node); said != nil {
		return said.Unfit
	}
	return ""
}
