package indexer_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
)

func TestDeleteDocumentsByBodyAndURL(t *testing.T) {
	c := open(t, indexer.Settings{})
	for _, id := range []string{"1", "2", "3", "4"} {
		c.must(c.add(page(id, "http://a/"+id, id)...))
	}
	body := url.Values{"PAPI_uri": {"http://a/1", "http://a/2"}}.Encode()
	code, answer, _ := c.do("POST", c.url("delete_documents", one("PAPI_uri", "http://a/3")), "application/x-www-form-urlencoded", strings.NewReader(body))
	c.must(code, answer)
	c.sync()
	if got := c.must(c.get("enumerate_synced_entries", nil)); got != "http%3A%2F%2Fa%2F4 stamp of 4\n" {
		t.Errorf("left: %q", got)
	}
	for _, bad := range []struct{ contentType, body, words string }{
		{"application/json", `{"PAPI_uri":"http://a/4"}`, "application/x-www-form-urlencoded"},
		{"application/x-www-form-urlencoded", "PAPI_uri=http://a/4&uri=x", "unknown field"},
		{"application/x-www-form-urlencoded", "PAPI_uri=%zz", "form"},
		{"application/x-www-form-urlencoded", "PAPI_uri=http://a/4&PAPI_uri=", "empty"},
		{"application/x-www-form-urlencoded", strings.Repeat("x", 17<<20), "larger"},
	} {
		code, answer, _ := c.do("POST", c.url("delete_documents", nil), bad.contentType, strings.NewReader(bad.body))
		if code != 400 || !strings.Contains(answer, bad.words) {
			t.Errorf("%.40s: %d %s", bad.body, code, answer)
		}
	}
	c.sync()
	if n := c.count(); n != "1" {
		t.Errorf("%s documents after refused deletes, want 1", n)
	}
}

func TestRootPaths(t *testing.T) {
	all := []string{"http://a/x", "http://a/x/1", "http://a/x/1/2", "http://a/x/", "http://a/xy", "http://a/y", "http://b/x"}
	tests := []struct {
		root, recursive string
		left            []string
	}{
		{"http://a/x", "true", []string{"http://a/xy", "http://a/y", "http://b/x"}},
		{"http://a/x/", "", []string{"http://a/xy", "http://a/y", "http://b/x"}},
		{"http://a/x", "false", []string{"http://a/x/1/2", "http://a/xy", "http://a/y", "http://b/x"}},
		{"http://c", "true", []string{"http://a/x", "http://a/x/", "http://a/x/1", "http://a/x/1/2", "http://a/xy", "http://a/y", "http://b/x"}},
	}
	for _, synced := range []bool{true, false} {
		for _, tt := range tests {
			t.Run(tt.root+tt.recursive+strconv.FormatBool(synced), func(t *testing.T) {
				c, server, _ := start(t, t.TempDir(), indexer.Settings{})
				c.readSession()
				for i, uri := range all {
					c.must(c.add(page(strconv.Itoa(i), uri, "x")...))
				}
				if synced {
					c.sync()
				}
				query := one("PAPI_rootPath", tt.root)
				if tt.recursive != "" {
					query.Set("PAPI_recursive", tt.recursive)
				}
				c.must(c.post("delete_documents_root_path", query))
				for _, uri := range all { // the status knows of it before the sync
					want := " false "
					for _, left := range tt.left {
						if left == uri {
							want = " true "
						}
					}
					if got := c.must(c.get("get_documents_status", one("PAPI_uri", uri))); !strings.Contains(got, want) {
						t.Errorf("status of %s: %q, want%s", uri, got, want)
					}
				}
				c.sync()
				got, err := server.URIs("web")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.left, got); diff != "" {
					t.Errorf("left (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestAddAfterRootDeletionStays(t *testing.T) {
	c, server, _ := start(t, t.TempDir(), indexer.Settings{})
	c.readSession()
	c.must(c.add(page("1", "http://a/old", "x")...))
	c.sync()
	c.must(c.add(page("1", "http://a/pending", "x")...))
	c.must(c.post("delete_documents_root_path", one("PAPI_rootPath", "http://a")))
	c.must(c.add(page("1", "http://a/new", "x")...))
	c.sync()
	got, err := server.URIs("web")
	if diff := cmp.Diff([]string{"http://a/new"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestEnumerateCountAndStatus(t *testing.T) {
	c := open(t, indexer.Settings{})
	c.must(c.add(part{"PAPI_1:uri", "http://a/b c?d=é", ""}, part{"PAPI_1:stamp", "a\\b\r\nc", ""}))
	c.must(c.add(page("2", "http://a/x/y", "two")...))
	status := url.Values{"PAPI_uri": {"http://a/x/y", "http://none", "http://a/b c?d=é"}}
	want := "http%3A%2F%2Fa%2Fx%2Fy true stamp of 2\nhttp%3A%2F%2Fnone false \nhttp%3A%2F%2Fa%2Fb+c%3Fd%3D%C3%A9 true a\\\\b\\r\\nc\n"
	for range 2 { // pushed, then synced
		if got := c.must(c.get("get_documents_status", status)); got != want {
			t.Errorf("status %q, want %q", got, want)
		}
		c.sync()
	}
	for mode, counts := range map[string][2]string{
		"RECURSIVE_DOCUMENTS": {"2", "1"}, "NOT_RECURSIVE_DOCUMENTS": {"1", "0"},
	} {
		for i, root := range []string{"http://a", "http://a/b c?d=é/"} {
			if got := c.must(c.get("count_synced_entries", url.Values{"PAPI_mode": {mode}, "PAPI_rootPath": {root}})); i == 0 && got != counts[0] {
				t.Errorf("%s below %s: %s, want %s", mode, root, got, counts[0])
			}
		}
	}
	if got := c.must(c.get("enumerate_synced_entries", one("PAPI_rootPath", "http://a/x"))); got != "http%3A%2F%2Fa%2Fx%2Fy stamp of 2\n" {
		t.Errorf("enumerated %q", got)
	}
	// A replaced and a deleted document are said as they are now.
	c.must(c.add(part{"PAPI_1:uri", "http://a/x/y", ""}, part{"PAPI_1:stamp", "newer", ""}))
	c.must(c.post("delete_documents", one("PAPI_uri", "http://a/b c?d=é")))
	c.sync()
	if got := c.must(c.get("enumerate_synced_entries", nil)); got != "http%3A%2F%2Fa%2Fx%2Fy newer\n" {
		t.Errorf("enumerated %q", got)
	}
}
