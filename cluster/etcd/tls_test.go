package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/internal/testing/testetcd"
)

const day = 24 * time.Hour

// secured starts an etcd with a certificate, which asks its clients for one of the authority.
func secured(t *testing.T, a *authority, server Files) (s *testetcd.Server, rawURL string) {
	t.Helper()
	ask := Settings{Endpoints: []string{"https://"}}
	if err := ask.Secure(a.issue(t, "asks", "127.0.0.1", 0)); err != nil {
		t.Fatal(err)
	}
	ask.TLS.InsecureSkipVerify = true // whether it may be trusted is for the test
	s = testetcd.StartSecure(t, testetcd.Secure{Authority: a.file, Certificate: server.Certificate, Key: server.Key, Ask: ask.TLS})
	return s, "etcds://" + strings.TrimPrefix(s.Client, "https://")
}

// openURL opens an engine as the flags name it. timeout is short where no member is to answer.
func openURL(t *testing.T, raw string, f Files, timeout time.Duration) *Engine {
	t.Helper()
	s, err := ParseURL(raw)
	if err == nil {
		err = s.Secure(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Timeout = timeout
	e, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// refuses wants Check to say all of the words. A machine that is slow may take more than one try to get so far.
func refuses(t *testing.T, e *Engine, words ...string) {
	t.Helper()
	var last error
	defer func() {
		if t.Failed() {
			t.Logf("it said: %v", last)
		}
	}()
	eventually(t, fmt.Sprintf("words with %q", words), func(ctx context.Context) bool {
		if last = e.Check(ctx); !errors.Is(last, cluster.ErrUnavailable) {
			t.Errorf("%v, want ErrUnavailable", last)
			return true
		}
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(last.Error(), w) })
	})
}

// TestTLS: with certificates of the user's own authority etcd is used; if one of them is wrong it is not, and the words say which one, and what
// to do.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, other := newAuthority(t, dir, "own"), newAuthority(t, dir, "other")
	_, good := secured(t, own, own.issue(t, "good", "127.0.0.1", 0))
	_, elsewhere := secured(t, own, own.issue(t, "elsewhere", "127.0.0.2", 0))
	_, old := secured(t, own, own.issue(t, "old", "127.0.0.1", day))
	node := own.issue(t, "node", "127.0.0.1", 0)
	e := openURL(t, good, node, 0)
	eventually(t, "a step", func(ctx context.Context) bool {
		if err := e.Check(ctx); err != nil {
			return false
		}
		_, err := e.Commit(ctx, cluster.Step{Then: []cluster.Write{{Key: "x", Value: []byte("y")}}})
		return err == nil
	})
	late, strange := own.issue(t, "late", "127.0.0.1", day), other.issue(t, "strange", "127.0.0.1", 0)
	for name, tt := range map[string]struct {
		url   string
		files Files
		words []string
	}{
		"etcd's authority is another":       {good, Files{other.file, node.Certificate, node.Key}, []string{other.file, "--engine-ca", "name the file"}},
		"etcd's authority is not named":     {good, Files{"", node.Certificate, node.Key}, []string{"--engine-ca", "name the file"}},
		"etcd's certificate is for another": {elsewhere, node, []string{"ETCD_CERT_FILE", "127.0.0.2, not 127.0.0.1", "write a name"}},
		"etcd's certificate expired":        {old, node, []string{"ETCD_CERT_FILE", "expired", "renew it"}},
		"no certificate":                    {good, Files{CA: own.file}, []string{"etcd asks for a certificate", "--engine-cert, --engine-key"}},
		"certificate expired":               {good, late, []string{late.Certificate, "it expired on", "renew it"}},
		"certificate of somebody else":      {good, Files{own.file, strange.Certificate, strange.Key}, []string{strange.Certificate, "ETCD_TRUSTED_CA_FILE", "have it signed"}},
		"TLS is not written":                {strings.Replace(good, "etcds://", "etcd://", 1), Files{}, []string{"write etcds://"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openURL(t, tt.url, tt.files, 100*time.Millisecond)
			refuses(t, e, tt.words...)
			if _, err := e.Read(t.Context(), "x"); !errors.Is(err, cluster.ErrUnavailable) {
				t.Errorf("Read: %v, want ErrUnavailable", err)
			}
			if _, err := e.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "x"}}}); err == nil {
				t.Error("a step is taken")
			}
		})
	}
}

// TestTLSIsNotThere: etcds:// is written, and etcd has no certificate.
func TestTLSIsNotThere(t *testing.T) {
	t.Parallel()
	plain := testetcd.Start(t, 1)[0]
	refuses(t, openURL(t, strings.Replace(testetcd.URL([]*testetcd.Server{plain}), "etcd://", "etcds://", 1), Files{}, 100*time.Millisecond), "write etcd://")
}

// TestCertificateIsRenewed: a node that runs takes a renewed certificate from the disk, and says it if that cannot be read.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	own := newAuthority(t, t.TempDir(), "own")
	server, address := secured(t, own, own.issue(t, "server", "127.0.0.1", 0))
	node := own.issue(t, "node", "127.0.0.1", day)
	e := openURL(t, address, node, 0)
	works := func(ctx context.Context) bool { return e.Check(ctx) == nil }
	refuses(t, e, node.Certificate, "it expired on")
	own.issue(t, "node", "127.0.0.1", 0)
	eventually(t, "with the new certificate", works)

	server.Kill()
	own.issue(t, "server", "127.0.0.1", 0)
	whole, err := os.ReadFile(node.Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(node.Key, whole[:len(whole)/2], 0o600); err != nil { // as while it is copied
		t.Fatal(err)
	}
	server.Run(t)
	eventually(t, "the key is half", func(ctx context.Context) bool {
		err := e.Check(ctx)
		return err != nil && strings.Contains(err.Error(), node.Key)
	})
	if err := os.WriteFile(node.Key, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the key is whole", works)
}
