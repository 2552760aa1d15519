package crawl

import (
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Why workers wait, as codes; a contract.
const (
	IdleStopping    = "stopping"
	IdleStarting    = "starting"
	IdlePaused      = "paused"
	IdleOutboxFull  = "outbox_full"
	IdleStoreSlow   = "store_slow" // an outcome has been waiting for the disk for more than a second
	IdleRateLimit   = "rate_limit" // maxRequestsPerS or maxBytesPerS
	IdleSourcesOff  = "sources_off"
	IdleNoURL       = "no_url"
	IdleHostsClosed = "hosts_closed" // all hosts with work must rest
	IdleHostsBusy   = "hosts_busy"   // all hosts with work are being visited
	IdleSlotsFull   = "slots_full"   // all workers are at work: more threads would fetch more
)

// idle returns the reasons why workers wait, the most important first.
func (c *Crawl) idle(f scheduler.Snapshot, a meter.ActivitySnapshot) (code, words string) {
	storing := max(c.visitor.Storing(), a.Longest[meter.WaitsForStore])
	switch {
	case c.stopping.Err() != nil:
		return IdleStopping, "stopping"
	case c.frontier.Paused():
		return IdlePaused, "paused by the operator"
	case a.At[meter.WaitsForOutbox] > 0 && c.gates.outboxFull.Load() > 0:
		return IdleOutboxFull, "the outbox is full"
	case storing > meter.SlowStore:
		return IdleStoreSlow, fmt.Sprintf("the store is slow: an outcome has waited for %s", storing.Round(time.Second/10))
	case c.gates.share.waits():
		return IdleSlotsFull, "all threads of the service (--threads) are busy"
	case a.Workers > 0 && a.At[meter.WaitsForURL]+a.At[meter.WaitsForRate] == 0:
		return IdleSlotsFull, ""
	case a.At[meter.WaitsForRate] > 0 && a.At[meter.WaitsForURL] == 0:
		return IdleRateLimit, "maxRequestsPerS or maxBytesPerS is reached"
	}
	code, words = frontierIdle(f), f.Idle
	if code == IdleNoURL && !c.policy().Refreshes() {
		words += "; " + noRefresh
	}
	return code, words
}

// noRefresh is logged if nothing makes fetched pages due again.
const noRefresh = "no refresh is configured: pages are fetched only once"

// frontierIdle returns the code of the frontier's own reason.
func frontierIdle(f scheduler.Snapshot) string {
	switch f.IdleCode {
	case scheduler.NotIdle:
		return ""
	case scheduler.IdleStarting:
		return IdleStarting
	case scheduler.IdleStopped:
		return IdleStopping
	case scheduler.IdlePaused:
		return IdlePaused
	case scheduler.IdleOff:
		return IdleSourcesOff
	case scheduler.IdleClosed:
		return IdleHostsClosed
	case scheduler.IdleVisited:
		return IdleHostsBusy
	case scheduler.IdleDone, scheduler.IdleFetching: // nothing waits, though URLs may be in flight
	}
	return IdleNoURL
}
