package indexer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// connector is the state of a connector: the synced state, which is stored with the documents, and the pending
// operations.
type connector struct {
	name   string
	synced state
	serial uint64 // of the last operation, pending ones included

	// The pending operations, folded: first the roots are deleted from the index, then each URI gets its last value. A
	// root removes the pending URIs below it, so the order of arrival is kept.
	roots []rootPath
	last  map[string]*document // nil: deleted
	marks map[string]string    // checkpoints by name
	bytes int64

	graves graves // of the _bulk interface
}

// state is the synced part, as stored.
type state struct {
	Serial      uint64            `json:"serial"`
	Checkpoints map[string]string `json:"checkpoints"`
}

// operationBytes is about the memory of an operation without its strings.
const operationBytes = 200

func newConnector(name string, synced state) *connector {
	c := &connector{name: name, synced: synced, serial: synced.Serial, graves: graves{}}
	c.drop()
	return c
}

// drop drops the pending operations.
func (c *connector) drop() {
	c.roots, c.last, c.marks, c.bytes = nil, map[string]*document{}, map[string]string{}, 0
	c.serial = c.synced.Serial
}

// put sets d as the last value of its URI; nil deletes it. It returns the growth in bytes.
func (c *connector) put(uri string, d *document) int64 {
	before := c.bytes
	c.forget(uri)
	c.last[uri] = d
	c.bytes += cost(uri, d)
	c.serial++
	return c.bytes - before
}

// forget drops the pending operations of one URI.
func (c *connector) forget(uri string) {
	if d, ok := c.last[uri]; ok {
		c.bytes -= cost(uri, d)
		delete(c.last, uri)
	}
}

func cost(uri string, d *document) int64 {
	n := int64(len(uri)) + operationBytes
	if d != nil {
		n += d.size()
	}
	return n
}

func (c *connector) deleteRoot(root rootPath) int64 {
	before := c.bytes
	for uri := range c.last {
		if root.matches(uri) {
			c.forget(uri)
		}
	}
	c.roots = append(c.roots, root)
	c.bytes += int64(len(root.path)) + operationBytes
	c.serial++
	return c.bytes - before
}

// Every sync writes all checkpoints, so hostile clients must not make them large.
const (
	maxConnectors      = 100
	maxCheckpoints     = 100     // names in a connector
	maxCheckpointBytes = 4 << 10 // of a name, and of a value
)

func (c *connector) mark(name, value string) error {
	_, pending := c.marks[name]
	_, synced := c.synced.Checkpoints[name]
	if !pending && !synced && len(c.marks)+len(c.synced.Checkpoints) >= maxCheckpoints {
		return badRequest("PAPI_name: more than %d checkpoints in a connector: use fewer names", maxCheckpoints)
	}
	c.marks[name] = value
	return nil
}

func (c *connector) isPending() bool {
	return len(c.roots)+len(c.last)+len(c.marks) > 0
}

// next returns the state after a sync.
func (c *connector) next() state {
	checkpoints := make(map[string]string, len(c.synced.Checkpoints)+len(c.marks))
	maps.Copy(checkpoints, c.synced.Checkpoints)
	maps.Copy(checkpoints, c.marks)
	return state{Serial: c.serial, Checkpoints: checkpoints}
}

// rootsCover reports whether a pending root deletion hides the synced uri.
func (c *connector) rootsCover(uri string) bool {
	return slices.ContainsFunc(c.roots, func(root rootPath) bool { return root.matches(uri) })
}

// rootPath is a folder of URIs. Its path has no slash at its end.
type rootPath struct {
	path      string
	recursive bool
}

func newRootPath(path string, recursive bool) rootPath {
	return rootPath{path: strings.TrimRight(path, "/"), recursive: recursive}
}

// matches reports whether uri is the root itself or below it; everything is below an empty path.
func (p rootPath) matches(uri string) bool {
	rest, ok := strings.CutPrefix(uri, p.path)
	if !ok {
		return false
	}
	if p.path != "" && rest != "" {
		if rest[0] != '/' {
			return false
		}
		rest = rest[1:]
	}
	return p.recursive || !strings.Contains(rest, "/")
}

// connector returns the connector of a name, which it creates if needed. The caller holds mu.
func (s *Server) connector(name string) (*connector, error) {
	c, ok := s.connectors[name]
	if ok {
		return c, nil
	}
	if len(s.connectors) >= maxConnectors {
		return nil, badRequest("there are already %d connectors: use one of them", maxConnectors)
	}
	c = newConnector(name, state{})
	s.connectors[name] = c
	return c, nil
}

// sync writes the pending operations of c in one batch. If it fails they stay pending. The caller holds mu.
func (s *Server) sync(c *connector) error {
	if !c.isPending() {
		return nil
	}
	next := c.next()
	states := make(map[string]state, len(s.connectors))
	for name, other := range s.connectors {
		states[name] = other.synced
	}
	states[c.name] = next
	if err := s.store.apply(c, states); err != nil {
		return fmt.Errorf("indexer: sync of connector %s: %w", c.name, err)
	}
	s.log.Debug("synced", "connector", c.name, "operations", len(c.last)+len(c.roots), "serial", next.Serial)
	s.pending -= c.bytes
	c.synced = next
	c.drop()
	return nil
}

// syncAll syncs every connector. The caller holds mu.
func (s *Server) syncAll() error {
	for _, c := range s.connectors {
		if err := s.sync(c); err != nil {
			return err
		}
	}
	return nil
}

// grown counts n more pending bytes and syncs if there are too many. The caller holds mu.
func (s *Server) grown(n int64) error {
	s.pending += n
	if s.pending <= s.settings.MaxPendingBytes {
		return nil
	}
	return s.syncAll()
}

// restart has the effects of a crash and a start on the protocol. The caller holds mu.
func (s *Server) restart() {
	s.session = newSession()
	s.pending = 0
	for _, c := range s.connectors {
		c.drop()
	}
	s.log.Info("scripted restart: new session, pending operations lost")
}
