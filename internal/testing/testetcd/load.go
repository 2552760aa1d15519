package testetcd

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testproc"
)

// Load is what servers have done since they began, all together.
type Load struct {
	Steps          float64 // that changed something; each is counted once, not at each server
	Questions      float64 // and steps, that clients sent
	Received, Sent float64 // bytes, from and to clients
	Elections      float64 // of another leader: nothing is answered meanwhile
	CPU            time.Duration
	at             time.Time
}

// Measure asks the servers' metrics, and the system.
func Measure(t testing.TB, servers []*Server) (l Load) {
	t.Helper()
	l.at = time.Now()
	client := http.Client{Timeout: 10 * time.Second}
	for _, s := range servers {
		answer, err := client.Get(s.Client + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			l.take(lines.Text())
		}
		_ = answer.Body.Close()
		l.CPU += testproc.CPU(t, s.Process())
	}
	return l
}

func (l *Load) take(line string) {
	name, value, _ := strings.Cut(line, " ")
	name, labels, _ := strings.Cut(name, "{")
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return
	}
	switch name {
	case "etcd_server_proposals_applied_total":
		l.Steps = max(l.Steps, n)
	case "etcd_server_leader_changes_seen_total":
		l.Elections = max(l.Elections, n)
	case "grpc_server_handled_total":
		if strings.Contains(labels, `grpc_service="etcdserverpb.KV"`) {
			l.Questions += n
		}
	case "etcd_network_client_grpc_received_bytes_total":
		l.Received += n
	case "etcd_network_client_grpc_sent_bytes_total":
		l.Sent += n
	}
}

// Since is what was done in each second since before, CPU in seconds; Elections are all of them.
func (l Load) Since(before Load) Load {
	seconds := l.at.Sub(before.at).Seconds()
	return Load{
		Steps: (l.Steps - before.Steps) / seconds, Questions: (l.Questions - before.Questions) / seconds,
		Elections: l.Elections - before.Elections,
		Received:  (l.Received - before.Received) / seconds, Sent: (l.Sent - before.Sent) / seconds,
		CPU: time.Duration(float64(l.CPU-before.CPU) / seconds),
	}
}
