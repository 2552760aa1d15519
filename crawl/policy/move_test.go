package policy

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestOldMoves: what an older version has stored of moves is understood, and plain moves
// are stored as it did.
func TestOldMoves(t *testing.T) {
	const stored = `{"http://a.example/":"http://b.example/home"}`
	var m Moves
	if err := json.Unmarshal([]byte(stored), &m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Moves{"http://a.example/": {To: "http://b.example/home"}}, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b, err := json.Marshal(m); err != nil || string(b) != stored {
		t.Errorf("%s, %v", b, err)
	}
	m["http://c.example/"] = Move{To: "http://d.example/", Back: true, Left: []string{"http://c.example"}, Seen: map[string]Sighting{"http://c.example/": {"http://e.example", time.Unix(1, 0).UTC()}}}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again Moves
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, again); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
