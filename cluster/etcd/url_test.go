package etcd

import (
	"slices"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]Settings{
		"etcd://a,b:2380,[::1]":    {Endpoints: []string{"http://a:2379", "http://b:2380", "http://[::1]:2379"}},
		"etcds://10.0.0.1:1/in/x/": {Endpoints: []string{"https://10.0.0.1:1"}, Prefix: "in/x/"},
		"etcd://a/":                {Endpoints: []string{"http://a:2379"}},
	} {
		got, err := ParseURL(raw)
		if err != nil || !slices.Equal(got.Endpoints, want.Endpoints) || got.Prefix != want.Prefix {
			t.Errorf("%s: %v, %q, %v", raw, got.Endpoints, got.Prefix, err)
		}
	}
	for _, raw := range []string{"", "a:2379", "http://a:2379", "etcd://", "etcd://a,,b", "etcd://a:0", "etcd://a:99999", "etcd://user:pw@a", "etcd://a/x?y", "etcd://a:b:c"} {
		if s, err := ParseURL(raw); err == nil || !strings.Contains(err.Error(), raw) {
			t.Errorf("%q: %v, %v", raw, s, err)
		}
	}
}

// TestSecure: what is said of TLS without TLS is refused, and so is half of it.
func TestSecure(t *testing.T) {
	for _, tt := range []struct {
		url   string
		files Files
		want  string
	}{
		{"etcd://a", Files{CA: "ca.pem"}, "write etcds://"},
		{"etcds://a", Files{Certificate: "c.pem"}, "name both files"},
		{"etcds://a", Files{CA: "missing.pem"}, "missing.pem"},
		{"etcds://a", Files{CA: "url_test.go"}, "holds no certificate"},
	} {
		s, err := ParseURL(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Secure(tt.files); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %+v: %v, want %s", tt.url, tt.files, err, tt.want)
		}
	}
}

// FuzzParseURL: whatever is read gives endpoints that read the same again.
func FuzzParseURL(f *testing.F) {
	for _, raw := range []string{"etcd://a,b:2380/x", "etcds://[::1]:1/a/b/", "etcd://a:b:c", "etcd://a%zone"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		s, err := ParseURL(raw)
		if err != nil {
			return
		}
		var hosts []string
		for _, e := range s.Endpoints {
			_, host, _ := strings.Cut(e, "://")
			hosts = append(hosts, host)
		}
		again, err := ParseURL("etcd://" + strings.Join(hosts, ",") + "/" + s.Prefix)
		if err != nil || len(again.Endpoints) != len(s.Endpoints) || strings.Trim(again.Prefix, "/") != strings.Trim(s.Prefix, "/") {
			t.Errorf("%q: %v, then %v, %v", raw, s, again, err)
		}
	})
}
