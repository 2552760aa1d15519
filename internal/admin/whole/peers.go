package whole

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/weburl"
)

// AskPath is where a node answers others about its part.
const AskPath = "/v1/ask"

// Peers are the nodes of a cluster that own partitions, as its engine shows them, asked over HTTPS.
type Peers struct {
	Name   string // of this node
	Engine cluster.Engine
	Client *peer.Client
}

// Others implements Cluster. A partition without an owner is missing, too.
func (p *Peers) Others(ctx context.Context) (all []Node, err error) {
	owned, err := cluster.Owners(ctx, p.Engine)
	if err != nil {
		return nil, err
	}
	beats, err := cluster.Nodes(ctx, p.Engine)
	if err != nil {
		return nil, err
	}
	var names, orphans []string
	parts := map[string][]string{}
	for i := range owned.Owners {
		switch o := &owned.Owners[i]; {
		case o.Released:
			orphans = append(orphans, o.Partition.String())
		case o.Node != p.Name:
			if parts[o.Node] == nil {
				names = append(names, o.Node)
			}
			parts[o.Node] = append(parts[o.Node], o.Partition.String())
		}
	}
	for _, name := range names {
		address := ""
		if i := slices.IndexFunc(beats, func(n cluster.NodeState) bool { return n.Node == name }); i >= 0 {
			address = beats[i].Peer
		}
		all = append(all, Node{name, func(ctx context.Context, q *Question) (io.ReadCloser, error) {
			answer, err := p.ask(ctx, address, q)
			if err != nil {
				err = fmt.Errorf("%w, for %s", err, strings.Join(parts[name], ", "))
			}
			return answer, err
		}})
	}
	if len(orphans) > 0 {
		nobody := fmt.Errorf("%s without an owner now", strings.Join(orphans, ", "))
		all = append(all, Node{"no node", func(context.Context, *Question) (io.ReadCloser, error) { return nil, nobody }})
	}
	return all, nil
}

func (p *Peers) ask(ctx context.Context, address string, q *Question) (io.ReadCloser, error) {
	if address == "" {
		return nil, errors.New("it gives no sign of life")
	}
	question, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	return p.Client.Post(ctx, address, AskPath, question)
}

// Owner implements Cluster.
func (p *Peers) Owner(ctx context.Context, of string) (string, error) {
	if !strings.Contains(of, "://") {
		of = "http://" + of
	}
	u, err := weburl.Parse(of)
	if err != nil {
		return "", err
	}
	owned, err := cluster.Owners(ctx, p.Engine)
	if err != nil {
		return "", err
	}
	o := &owned.Owners[partitioned.Of(u.Host(), owned.Partitions)]
	if o.Released {
		return "", nil
	}
	return o.Node, nil
}

// Handler answers other nodes at AskPath, behind peer.Guard.
func (s *Server) Handler(log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := peer.Question(w, r, 2*MaxQuestion) // the body is in base64
		var q Question
		if err == nil {
			err = json.Unmarshal(b, &q)
		}
		if err == nil {
			err = s.Answer(r.Context(), w, &q)
		}
		if err != nil {
			log.Warn("a question of another node is not answered", "address", r.RemoteAddr, "error", err)
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
}
