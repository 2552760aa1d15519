package cluster

// keys.go: the form of what an engine stores: JSON, in the keys below, and entries.

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/cluster/entry"
)

// Partition is a part of the crawl with one owner and one log. With one partition it is 0.
type Partition int

// MaxPartitions is how many a cluster can have: as many as one transaction of a node covers.
const MaxPartitions = 24

// String is the partition as keys and logs have it.
func (p Partition) String() string { return fmt.Sprintf("p%02d", int(p)) }

// The keys of a cluster. Their values are JSON, so that etcdctl shows what there is; entries
// of the log alone are in the form of package entry.
//
//	meta              cluster, incarnation, partitions
//	level             the form of what follows
//	beat/NODE/SESSION a process's sign of life
//	own/P             who owns P; its revision is the epoch
//	head/P            the end of the log
//	first/P           the lowest SEQ that is in the log
//	set/P             the in-sync set: who may claim P
//	done/P/NODE       how far a copy is safe on its disk
//	log/P/SEQ         the entries
//
// and, where there are several partitions:
//
//	leader            the process that writes the map
//	map               which nodes should have and own which partition
//	aim               what people want of it
const (
	metaKey   = "meta"
	levelKey  = "level"
	leaderKey = "leader"
	mapKey    = "map"
	aimKey    = "aim"
)

// BeatFolder is what keys of signs of life begin with.
const BeatFolder = "beat/"

func beatKey(node, session string) string     { return BeatFolder + node + "/" + session }
func nodeOfBeat(key string) string            { return strings.Split(key, "/")[1] }
func ownKey(p Partition) string               { return "own/" + p.String() }
func headKey(p Partition) string              { return "head/" + p.String() }
func firstKey(p Partition) string             { return "first/" + p.String() }
func setKey(p Partition) string               { return "set/" + p.String() }
func doneKey(p Partition, node string) string { return doneFolder(p) + node }
func doneFolder(p Partition) string           { return "done/" + p.String() + "/" }
func logKey(p Partition, seq uint64) string   { return fmt.Sprintf("log/%s/%016x", p, seq) }

// Meta is what a cluster is. A copy belongs to one incarnation of one cluster.
type Meta struct {
	Cluster     string `json:"cluster"`     // drawn when the cluster is made
	Incarnation string `json:"incarnation"` // drawn again at each recovery
	Partitions  int    `json:"partitions"`
}

func (m Meta) incarnation() (id entry.ID, err error) {
	b, err := hex.DecodeString(m.Incarnation)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%w: %s: incarnation %q is not 32 hexadecimal digits", entry.ErrDamaged, metaKey, m.Incarnation)
	}
	return entry.ID(b), nil
}

// Genesis is the position of the founder's copy of p, when it was founded at seq or recovered there.
// Every other copy is made from that one.
func (m Meta) Genesis(p Partition, seq uint64) (entry.Position, error) {
	id, err := m.incarnation()
	return entry.Genesis(id, int(p), seq), err
}

// Seat is who may follow and claim a partition: a store, not a name. A new disk under the name of an
// old node is another seat.
type Seat struct {
	Node  string `json:"node"`
	Store string `json:"store"` // drawn when the store was made or rebuilt
}

// Addresses are where the process of a node can be reached. Its beats tell them to all.
type Addresses struct {
	Peer    string `json:"peer,omitempty"`    // HOST:PORT for the other nodes
	Console string `json:"console,omitempty"` // URL; "" if nothing listens
	Machine string `json:"machine,omitempty"` // its host name: what is on loopback is of use only there
}

type beat struct {
	Wall  time.Time `json:"wall"`
	Count uint64    `json:"count"`
	// Refuses is why the process makes no further copy at present, "" if it does.
	Refuses string `json:"refuses,omitempty"`
	// Unfit says that the process must not own partitions at present. Why stands where the reason belongs.
	Unfit bool `json:"unfit,omitempty"`
	// Level is the newest level that the process knows. One that does not say so knows 1.
	Level uint8 `json:"level,omitempty"`
	Addresses
}

type ownership struct {
	Seat
	Session  string `json:"session"` // whose beats count
	Claim    string `json:"claim"`   // drawn for this claim
	Released bool   `json:"released,omitempty"`
	Why      string `json:"why,omitempty"` // for people
	// Since is the owner's time of day when it claimed, or gave up.
	Since time.Time `json:"since,omitzero"`
}

// gone says in words why another one may claim.
func (o ownership) gone() string {
	switch {
	case o.Why == founded:
		return "the cluster was founded"
	case o.Released:
		return o.Node + " gave it up: " + o.Why
	}
	return o.Node + " gave no sign of life"
}

// founded is why nobody owns a new cluster.
const founded = "founded"

type place struct {
	Seq  uint64 `json:"seq"`
	Size uint64 `json:"size"`
	Hash string `json:"hash"`
}

func placeOf(p entry.Position) place { return place{p.Seq, p.Size, p.Hash.String()} }

type first struct {
	Seq uint64 `json:"seq"`
}

// syncSet is the in-sync set: copies from whose synced end the log goes on without a gap.
type syncSet struct {
	Seats []Seat `json:"seats"`
}

func (s syncSet) has(seat Seat) bool { return slices.Contains(s.Seats, seat) }

type done struct {
	Store string `json:"store"`
	place
	// Peer is where the node is reached, for as long as others may want something of what it wrote.
	Peer string `json:"peer,omitempty"`
}

// Folder are the keys below a prefix that ends with a slash, for Engine.List and for a Write that removes them.
func Folder(prefix string) (from, to string) { return prefix, prefix[:len(prefix)-1] + "0" } // '0' follows '/'

// Decode fills v from the key's JSON, and leaves it if there is no such key.
func (kv KeyValue) Decode(v any) error {
	if kv.Revision == 0 {
		return nil
	}
	if err := json.Unmarshal(kv.Value, v); err != nil {
		return fmt.Errorf("key %s of the engine cannot be read: %w", kv.Key, err)
	}
	return nil
}

// read fills v from a key that must be there.
func read(kv KeyValue, v any) error {
	if kv.Revision == 0 {
		return fmt.Errorf("%w: key %s is missing", entry.ErrDamaged, kv.Key)
	}
	if err := json.Unmarshal(kv.Value, v); err != nil {
		return fmt.Errorf("%w: key %s: %w", entry.ErrDamaged, kv.Key, err)
	}
	return nil
}

// Put is a write of v as JSON. v is of a type of our own, which always encodes.
func Put(key string, v any) Write {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return Write{Key: key, Value: b}
}
