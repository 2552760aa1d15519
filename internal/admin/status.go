package admin

import (
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/notices"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// setBackShown is how long a status shows that the database was set back.
const setBackShown = 7 * 24 * time.Hour

// SetBack notes when the database was set back; zero: never.
func (s *StoreStatus) SetBack(at time.Time) {
	if time.Since(at) < setBackShown {
		s.SetBackAt = utc(at)
	}
}

// Status is everything that the status command prints for one Crawler. Its JSON is flat.
type Status struct {
	crawl.Status
	PendingCounts
	// LosingHosts counts the hosts with pending deletions; Losing lists the worst.
	LosingHosts int          `json:"losing_hosts,omitempty"`
	Losing      []LosingHost `json:"losing,omitempty"`
	// Edits are the edits of the rules with pending deletions, or by which stored URLs are being judged, oldest first.
	Edits []EditStatus      `json:"edits,omitempty"`
	sent  map[uint64]uint64 // see sentByWord
	// ClosedFor counts the hosts that may not be visited yet, by the word for the reason. NextOpening is the time when the
	// first of them opens, nil if there is none.
	ClosedFor   map[string]int `json:"closed_for,omitempty"`
	NextOpening *time.Time     `json:"next_opening,omitempty"`
	// IllHosts is the number of ill hosts; Ill names the first few.
	IllHosts int                 `json:"ill_hosts,omitempty"`
	Ill      []scheduler.IllHost `json:"ill,omitempty"`
	// NextDue is the time of the first retry or refresh, nil if unknown.
	NextDue *time.Time `json:"next_due,omitempty"`
	// Schedules are those of the configuration, and when each runs next.
	Schedules []crawl.Schedule `json:"schedules,omitempty"`
	Store     *StoreStatus     `json:"store,omitempty"`
	// ConfigLoadedAt is the time when the configuration in force was read, StartedAt when the service started, and Version
	// is the program's. All are absent without a running service.
	ConfigLoadedAt *time.Time `json:"config_loaded_at,omitempty"`
	StartedAt      *time.Time `json:"started_at,omitempty"`
	Version        string     `json:"version,omitempty"`
	// OutboxLag is the backlog of the outbox.
	OutboxLag *OutboxDetails `json:"outbox_lag,omitempty"`
	// Notices are the receivers of notices, the same for all Crawlers of the process.
	Notices []notices.Status `json:"notices,omitempty"`
	// HostList are the hosts with the longest queues, then some that rest longest, on request.
	HostList []HostStatus `json:"host_list,omitempty"`
}

// NotRunning is crawl.Status.Idle of a Crawler without a running service.
const NotRunning = "not running"

// AddSnapshot adds the state of the frontier.
func (s *Status) AddSnapshot(now scheduler.Snapshot) {
	for why, n := range now.ClosedFor {
		if s.ClosedFor == nil {
			s.ClosedFor = map[string]int{}
		}
		s.ClosedFor[why.String()] = n
	}
	s.NextOpening, s.NextDue = utc(now.NextOpening), utc(now.NextDue)
	s.IllHosts, s.Ill = now.IllHosts, now.Ill
}

// utc returns t in UTC, nil for the zero time.
func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// StoreStatus is the state of a store.
type StoreStatus struct {
	store.Stats
	// Node crawls, if the store is in a database. SetBackAt is when one last noticed that the database lacked changes
	// that it had confirmed, if that was less than a week ago.
	Node      string     `json:"node,omitempty"`
	SetBackAt *time.Time `json:"set_back_at,omitempty"`
	// LastCommitS and LongestCommitS are the durations in seconds.
	LastCommitS    float64 `json:"last_commit_s"`
	LongestCommitS float64 `json:"longest_commit_s"`
}

// DiskBytes returns all bytes on disk.
func (s *StoreStatus) DiskBytes() int64 { return s.TableBytes + s.LogBytes + s.BodyBytes }

func (s *Server) status(c *call) (any, error) {
	started := s.started.UTC()
	crawlers := s.crawlers
	if name := c.query.Get("crawler"); name != "" {
		one, err := s.crawler(name)
		if err != nil {
			return nil, err
		}
		crawlers = []Crawler{one}
	}
	all := make([]Status, 0, len(crawlers))
	for _, crawler := range crawlers {
		one, err := crawler.Status(c.r.Context())
		if err != nil {
			return nil, err
		}
		if one.Idle != NotRunning {
			one.StartedAt, one.Version = &started, s.about.Version
		}
		if s.about.Notices != nil {
			one.Notices = s.about.Notices()
		}
		all = append(all, one)
	}
	return all, nil
}

// DiskLow reports whether the disk of a store is nearly full. It returns false if the disk is unknown.
func (s *StoreStatus) DiskLow() bool { return s.DiskSize > 0 && s.DiskFree < s.DiskWanted() }

// DiskWanted returns the free space below which the disk of a store counts as nearly full.
func (s *StoreStatus) DiskWanted() int64 {
	return max(min(diskLowBytes, s.DiskSize/diskLowShare), 2*s.DiskNeeded)
}

// Bounds of the disk's free space below which the operator is notified: the smaller of the two, but not less than twice
// what the store needs, since the crawl would end first.
const (
	diskLowBytes = 2 << 30
	diskLowShare = 20 // one in 20: 5 %
)

// DiskFull reports whether the disk of a store has less free space than a commit needs. Then nothing is stored, and the
// crawl ends. It returns false if the disk is unknown.
func (s *StoreStatus) DiskFull() bool { return s.DiskSize > 0 && s.DiskFree < s.DiskNeeded }
