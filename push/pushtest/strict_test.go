package pushtest_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/funnelback"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/solr"
	"github.com/sextant-crawler/sextant/push/wire"
)

// servedBy runs the suite's requests against a strict receiver.
func servedBy(t testing.TB, s *pushtest.Strict, open func(s wire.Settings) (push.Target, error)) pushtest.Served {
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	safe := func() pushtest.Index {
		docs, all := s.Safe()
		if !all {
			t.Error("what is safe is not committed")
		}
		return docs
	}
	return pushtest.Served{
		Address: srv.URL, Safe: safe, Read: safe, Kill: srv.CloseClientConnections,
		Open: func(t testing.TB, s wire.Settings) push.Target {
			target, err := open(s)
			if err != nil {
				t.Fatal(err)
			}
			return target
		},
	}
}

func TestSolr(t *testing.T) {
	t.Parallel()
	pushtest.TestServed(t, func(t *testing.T) pushtest.Served {
		return servedBy(t, pushtest.NewSolr(t), func(server wire.Settings) (push.Target, error) {
			server.URL += "/solr"
			return solr.New(solr.Settings{
				Server: server, Collection: "web", CommitWithin: 5 * time.Second, MetaPrefix: "meta_", MetaSuffix: "_ss",
				Limits: wire.Limits{Count: 7, Requests: 3},
			})
		})
	})
}

func TestFunnelback(t *testing.T) {
	t.Parallel()
	pushtest.TestServed(t, func(t *testing.T) pushtest.Served {
		served := servedBy(t, pushtest.NewFunnelback(t), func(server wire.Settings) (push.Target, error) {
			return funnelback.New(funnelback.Settings{
				Server: withToken(server), Collection: "web pages", Limits: wire.Limits{Requests: 4},
			})
		})
		served.Single = true
		return served
	})
}

func withToken(s wire.Settings) wire.Settings {
	s.Headers = append(s.Headers, wire.Header{Name: "X-Security-Token", Value: secret.New("token")})
	return s
}
