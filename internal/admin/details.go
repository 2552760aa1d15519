package admin

import (
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/histogram"
	"github.com/sextant-crawler/sextant/internal/notices"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Status is all that the status command prints of one Crawler.
type Status struct {
	crawl.Status
	Details
}

// Details are what a status tells beside the crawl's own figures.
type Details struct {
	HeldDetails
	// Edits of the rules are those of which deletions rest or are held, or by which stored
	// URLs are being judged, oldest first.
	Edits []EditStatus `json:"edits,omitempty"`
	// ClosedFor counts the hosts that may not be visited yet by the word for why, and
	// NextOpening is when the first of them opens, nil if there is none.
	ClosedFor   map[string]int `json:"closed_for,omitempty"`
	NextOpening *time.Time     `json:"next_opening,omitempty"`
	// IllHosts is how many hosts are ill; Ill names the first few.
	IllHosts int       `json:"ill_hosts,omitempty"`
	Ill      []IllHost `json:"ill,omitempty"`
	// NextDue is when the first retry or refresh is due, nil if none is known.
	NextDue *time.Time `json:"next_due,omitempty"`
	// Schedules are those of the configuration, and when each runs next.
	Schedules []ScheduleStatus `json:"schedules,omitempty"`
	Store     *StoreStatus     `json:"store,omitempty"`
	// ConfigLoadedAt is when the configuration in force was read, StartedAt when the
	// service started, Version the program's; all are absent where no service runs.
	ConfigLoadedAt *time.Time `json:"config_loaded_at,omitempty"`
	StartedAt      *time.Time `json:"started_at,omitempty"`
	Version        string     `json:"version,omitempty"`
	// OutboxLag tells how far the outbox is behind.
	OutboxLag *OutboxDetails `json:"outbox_lag,omitempty"`
	// Cluster is how the node stands that crawls; nil for a machine that is alone.
	Cluster *ClusterStatus `json:"cluster,omitempty"`
	// Notices are who is told of trouble, the same for all Crawlers of the process.
	Notices []notices.Status `json:"notices,omitempty"`
	// HostList are the hosts with the longest queues, then some that rest longest, where
	// they were asked for.
	HostList []HostStatus `json:"host_list,omitempty"`
}

// ClusterStatus is how a node of a cluster stands.
type ClusterStatus struct {
	Role string `json:"role,omitempty"` // active, standby, or on the way between
	// BehindBytes of the log are not applied to this node's copy.
	BehindBytes uint64 `json:"behind_bytes,omitempty"`
	// TakenOverAt is when the node that crawls took over last, by its clock, and TakenOverWhy for what reason.
	TakenOverAt  *time.Time `json:"taken_over_at,omitempty"`
	TakenOverWhy string     `json:"taken_over_why,omitempty"`
	// EngineBytes are in use in the log's engine, of EngineQuotaBytes; both are 0 while that is not known.
	EngineBytes      int64    `json:"engine_bytes,omitempty"`
	EngineQuotaBytes int64    `json:"engine_quota_bytes,omitempty"`
	InSync           []string `json:"in_sync"` // nodes that may take over, this one included
	// Unprotected says why the loss of this node would stop the crawl, Held why nothing is stored because the
	// log's engine is nearly full; "" if all is well.
	Unprotected string `json:"unprotected,omitempty"`
	Held        string `json:"held,omitempty"`
	// EngineSilentSince is since when the log's engine does not answer: nothing is stored then.
	EngineSilentSince *time.Time `json:"engine_silent_since,omitempty"`
	// KeptBytes of the log are kept for the slowest copy.
	KeptBytes uint64 `json:"kept_bytes"`
	// ConfigVersion is the version of the configuration that the node goes by, and ConfigDiffers says which nodes have another file, or cannot
	// use it.
	ConfigVersion int64  `json:"config_version"`
	ConfigDiffers string `json:"config_differs,omitempty"`
	// Nodes are all nodes as the one that crawls saw them last; nil for some seconds after it has started.
	Nodes []ClusterNode `json:"nodes,omitempty"`
	*ClusterMap
}

// ClusterMap is who has which partition, where there are several; nil for one, and for some seconds after the node has started.
type ClusterMap struct {
	Partitions []ClusterPartition `json:"partitions"`
	// Leader is the node that says who shall have what, "" if none does now. Drained nodes are to own nothing, Leaving ones to have no copy either.
	Leader  string   `json:"leader,omitempty"`
	Drained []string `json:"drained,omitempty"`
	Leaving []string `json:"leaving,omitempty"`
}

// ClusterPartition is one partition.
type ClusterPartition struct {
	Partition string `json:"partition"`
	// Owner crawls it since then, and why it does; "" if nobody does, with the reason in Why.
	Owner string     `json:"owner,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	Why   string     `json:"why,omitempty"`
	// Unprotected says why nobody could take it over.
	Unprotected string            `json:"unprotected,omitempty"`
	Followers   []ClusterFollower `json:"followers,omitempty"`
	// MovesTo is the node that shall own it; "" where nothing is to change.
	MovesTo string `json:"moves_to,omitempty"`
}

// ClusterFollower is a node with a copy of a partition.
type ClusterFollower struct {
	Node        string `json:"node"`
	InSync      bool   `json:"in_sync"` // it may take over
	BehindBytes uint64 `json:"behind_bytes"`
}

// ClusterNode is one node as others see it.
type ClusterNode struct {
	Node   string `json:"node"`
	Does   string `json:"does"` // for people
	Alive  bool   `json:"alive"`
	Crawls bool   `json:"crawls"`
	InSync bool   `json:"in_sync"`
	Unfit  string `json:"unfit,omitempty"` // why it cannot use the configuration in force, and so takes nothing over
	// BehindBytes of the log are not safe on its disk; nil if it has no copy.
	BehindBytes *uint64 `json:"behind_bytes,omitempty"`
	// LastSignOfLife is by the node's clock; nil if it stopped in order, or never ran.
	LastSignOfLife *time.Time `json:"last_sign_of_life,omitempty"`
	Machine        string     `json:"machine,omitempty"`
	Peer           string     `json:"peer,omitempty"`    // where other nodes reach it
	Console        string     `json:"console,omitempty"` // where people do
}

// IllHost is a host whose documents turn bad: none of them is replaced, or deleted unasked.
type IllHost struct {
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// AddSnapshot adds what the frontier is doing.
func (d *Details) AddSnapshot(s scheduler.Snapshot) {
	for why, n := range s.ClosedFor {
		if d.ClosedFor == nil {
			d.ClosedFor = map[string]int{}
		}
		d.ClosedFor[why.String()] = n
	}
	d.NextOpening, d.NextDue = utc(s.NextOpening), utc(s.NextDue)
	d.IllHosts = s.IllHosts
	for _, h := range s.Ill {
		d.Ill = append(d.Ill, IllHost{h.Origin, h.Since.UTC()})
	}
}

// utc is nil for the zero time.
func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// ScheduleStatus is a Refresh element.
type ScheduleStatus struct {
	Schedule string    `json:"schedule"`
	Group    string    `json:"group,omitempty"` // "" is all
	Next     time.Time `json:"next"`
}

// StoreStatus is how a store does. The counts are since it was opened.
type StoreStatus struct {
	TableBytes     int64   `json:"table_bytes"` // on disk, as the others
	LogBytes       int64   `json:"log_bytes"`
	BodyBytes      int64   `json:"body_bytes"`
	Commits        uint64  `json:"commits"`
	Writes         uint64  `json:"writes"`           // outcomes and other changes in them
	WritesWaiting  int     `json:"writes_waiting"`   // for the next commit
	LastCommitS    float64 `json:"last_commit_s"`    // how long it took
	LongestCommitS float64 `json:"longest_commit_s"` // of the last minute or so
	// DiskFree and DiskSize are those of the disk; below DiskNeeded nothing is stored.
	DiskFree   int64 `json:"disk_free_bytes"`
	DiskSize   int64 `json:"disk_size_bytes"`
	DiskNeeded int64 `json:"disk_needed_bytes"`
	// DocumentsAdded came into the index, DocumentsUpdated were pushed in place of an older
	// one, DocumentsDeleted left it.
	DocumentsAdded   uint64 `json:"documents_added"`
	DocumentsUpdated uint64 `json:"documents_updated"`
	DocumentsDeleted uint64 `json:"documents_deleted"`
	// CommitTimes are for metrics alone.
	CommitTimes histogram.Snapshot `json:"-"`
	// Fingerprints are the URLs that are known in memory.
	Fingerprints       int   `json:"fingerprints"`
	FingerprintBytes   int64 `json:"fingerprint_bytes"`
	FingerprintLoading bool  `json:"fingerprint_loading,omitempty"` // they are still being read
}

// DiskBytes are all bytes on disk.
func (s *StoreStatus) DiskBytes() int64 { return s.TableBytes + s.LogBytes + s.BodyBytes }
