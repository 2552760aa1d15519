package admin

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReads compares them with the API's description as a library reads it.
func TestReads(t *testing.T) {
	doc := loadAPI(t)
	want := map[string]Read{}
	for path, item := range doc.Paths.Map() {
		o := item.Get
		if o == nil || o.Extensions["x-role"] != "reader" {
			continue
		}
		content := o.Responses.Status(200).Value.Content
		if content["application/json"] == nil && content["application/jsonl"] == nil {
			continue
		}
		r := Read{Name: o.OperationID, Path: path, About: o.Summary}
		for _, ref := range o.Parameters {
			p := Parameter{Name: ref.Value.Name, About: ref.Value.Description, Type: ref.Value.Schema.Value.Type.Slice()[0],
				Required: ref.Value.Required}
			for _, v := range ref.Value.Schema.Value.Enum {
				p.Values = append(p.Values, v.(string))
			}
			r.Parameters = append(r.Parameters, p)
		}
		want[r.Name] = r
	}
	got := map[string]Read{}
	for _, r := range Reads() {
		got[r.Name] = r
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, name := range []string{"status", "urls", "url", "links", "explain", "reportBroken", "deletions"} {
		if _, ok := got[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
	if i := slices.IndexFunc(Reads(), func(r Read) bool { return r.Path == "/api/v1/config" }); i >= 0 {
		t.Error("readers may not read the configuration")
	}
}
