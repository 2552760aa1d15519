package admin

import (
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/fetcher/render"
)

func outboxMetrics() []metric {
	lag := section(func(s *Status) *OutboxDetails { return s.OutboxLag })
	return []metric{
		byWord("sextant_outbox_entries", gauge, "state", "Orders in the outbox: waiting for an indexer; pending, not sent until confirmed (deletions and new texts); dead, refused permanently.", func(s *Status) map[string]uint64 {
			return map[string]uint64{"waiting": s.Outbox.Waiting, "pending": s.Outbox.Pending, "dead": s.Outbox.Dead}
		}),
		lag("sextant_outbox_bytes", gauge, "Bytes of unsent documents and deletions, limited by outboxMaxBytes.", func(o *OutboxDetails) float64 { return float64(o.Bytes) }),
		one("sextant_outbox_oldest_timestamp_seconds", gauge, "Time of the oldest unsent order, as a Unix time; absent without one.", func(s *Status) float64 { return stamp(orNone(s.OutboxLag).Oldest) }),
		{name: "sextant_deletions_pending", kind: gauge, labels: []string{"reason", "class"}, help: "Pending deletions and new texts, by reason (new_text for the latter) and class: few, some or most of a host's documents, or edit for an edit of the rules.",
			value: func(s *Status, emit emitValue) {
				for of, n := range s.byBoth {
					emit(float64(n), of[0], of[1])
				}
			}},
		one("sextant_deletions_pending_oldest_timestamp_seconds", gauge, "Time of the oldest pending deletion, as a Unix time; absent if none is pending.", func(s *Status) float64 { return stamp(s.DeletionsSince) }),
		one("sextant_hosts_losing", gauge, "Hosts with pending deletions.", func(s *Status) float64 { return float64(s.LosingHosts) }),
	}
}

func targetMetrics() []metric {
	each := series(func(s *Status) []targetStatus { return s.Targets }, []string{"target", "kind"}, func(t *targetStatus) []string { return []string{t.Name, t.Times.Kind} })
	return []metric{
		each("sextant_target_up", gauge, "1 while a push target accepts orders, 0 while it fails.", func(t *targetStatus) float64 { return yes(t.DownSince == nil) }),
		each("sextant_target_down_since_timestamp_seconds", gauge, "Time of a push target's first failure, as a Unix time; absent while it works.", func(t *targetStatus) float64 { return stamp(t.DownSince) }),
		{name: "sextant_target_behind_timestamp_seconds", kind: gauge, labels: []string{"target"}, help: "Time of the oldest order that a target has not stored safely, as a Unix time; absent if it has all.",
			value: func(s *Status, emit emitValue) {
				for target, at := range orNone(s.OutboxLag).Behind {
					emit(float64(at.Unix()), target)
				}
			}},
		each("sextant_target_orders_unsafe", gauge, "Pushed orders that the indexer has not confirmed yet.", func(t *targetStatus) float64 { return float64(t.Unsafe) }),
		{name: "sextant_target_orders_total", kind: counter, labels: []string{"target", "kind", "op"}, help: "Orders that a target accepted, including repetitions: add or delete.",
			value: func(s *Status, emit emitValue) {
				for _, t := range s.Targets {
					emit(float64(t.Adds), t.Name, t.Times.Kind, "add")
					emit(float64(t.Deletions), t.Name, t.Times.Kind, "delete")
				}
			}},
		each("sextant_target_bytes_total", counter, "Bytes of the documents that a target accepted, as stored in the outbox, including repetitions.", func(t *targetStatus) float64 { return float64(t.Bytes) }),
		each("sextant_target_refused_total", counter, "Orders that a target refused permanently: dead letters.", func(t *targetStatus) float64 { return float64(t.Refused) }),
		each("sextant_target_failures_total", counter, "Failed calls of a target that were retried.", func(t *targetStatus) float64 { return float64(t.Times.Failures) }),
		each("sextant_target_rewinds_total", counter, "Times that an indexer lost unconfirmed orders, which were pushed again.", func(t *targetStatus) float64 { return float64(t.Rewinds) }),
		{name: "sextant_push_duration_seconds", kind: spread, labels: []string{"target", "kind", "call"}, help: "Duration of the calls of a target: push sends a batch, checkpoint makes it safe.",
			times: func(s *Status, emit emitTimes) {
				for _, t := range s.Targets {
					emit(t.Times.Push, t.Name, t.Times.Kind, "push")
					emit(t.Times.Checkpoint, t.Name, t.Times.Kind, "checkpoint")
				}
			}},
	}
}

func storeMetrics() []metric {
	each := section(func(s *Status) *StoreStatus { return s.Store })
	return []metric{
		byWord("sextant_store_disk_bytes", gauge, "kind", "Disk space of the store: tables, logs and unsent bodies.", func(s *Status) map[string]int64 {
			store := orNone(s.Store)
			return map[string]int64{"tables": store.TableBytes, "logs": store.LogBytes, "bodies": store.BodyBytes}
		}),
		each("sextant_disk_free_bytes", gauge, "Free space on the disk of the store.", func(s *StoreStatus) float64 { return float64(s.DiskFree) }),
		each("sextant_disk_size_bytes", gauge, "Size of the disk of the store.", func(s *StoreStatus) float64 { return float64(s.DiskSize) }),
		each("sextant_disk_needed_bytes", gauge, "Free space below which the crawl ends.", func(s *StoreStatus) float64 { return float64(s.DiskNeeded) }),
		each("sextant_store_commits_total", counter, "Commits of the store.", func(s *StoreStatus) float64 { return float64(s.Commits) }),
		each("sextant_store_writes_total", counter, "Outcomes and other changes in these commits.", func(s *StoreStatus) float64 { return float64(s.Writes) }),
		each("sextant_store_writes_waiting", gauge, "Changes in the queue for the next commit.", func(s *StoreStatus) float64 { return float64(s.WritesWaiting) }),
		{name: "sextant_store_commit_duration_seconds", kind: spread, help: "Duration of commits, including the disk's sync.",
			times: func(s *Status, emit emitTimes) { emit(orNone(s.Store).CommitTimes) }},
		each("sextant_store_commit_longest_seconds", gauge, "Longest commit of about the last minute.", func(s *StoreStatus) float64 { return s.LongestCommitS }),
		each("sextant_fingerprints", gauge, "URLs known in memory.", func(s *StoreStatus) float64 { return float64(s.Fingerprints) }),
		each("sextant_fingerprints_bytes", gauge, "Memory of these URLs.", func(s *StoreStatus) float64 { return float64(s.FingerprintBytes) }),
	}
}

func readingMetrics() []metric {
	duplicates := section(func(s *Status) *copies.Status { return s.Duplicates })
	shells := section(func(s *Status) *meter.ShellsStatus { return s.Shells })
	field := series(func(s *Status) []meter.FieldStatus { return orNone(s.Fields).Fields }, []string{"field"}, func(f *meter.FieldStatus) []string { return []string{f.Name} })
	return []metric{
		byWord("sextant_documents_read_total", counter, "kind", "PDF and office documents read.", func(s *Status) map[string]int64 { return orNone(s.Documents).Read }),
		{name: "sextant_documents_failed_total", kind: counter, labels: []string{"kind", "reason"}, help: "PDF and office documents that could not be read.",
			value: func(s *Status, emit emitValue) {
				for kind, reasons := range orNone(s.Documents).Failed {
					for reason, n := range reasons {
						emit(float64(n), kind, reason)
					}
				}
			}},
		shells("sextant_app_shells_total", counter, "Pages that only scripts fill.", func(s *meter.ShellsStatus) float64 { return float64(s.Pages) }),
		field("sextant_field_pages_total", counter, "Pages searched for a Field.", func(f *meter.FieldStatus) float64 { return float64(f.Pages) }),
		field("sextant_field_empty_total", counter, "Pages without a value for a Field.", func(f *meter.FieldStatus) float64 { return float64(f.Empty) }),
		field("sextant_field_cut_total", counter, "Pages whose Field with their content was cut at its maxBytes.", func(f *meter.FieldStatus) float64 { return float64(f.Cut) }),
		byWord("sextant_field_failed_total", counter, "reason", "Pages that could not be searched for fields or their main content.", func(s *Status) map[string]int64 { return orNone(s.Fields).Failed }),
		{name: "sextant_document_read_duration_seconds", kind: spread, labels: []string{"kind"}, help: "Time to read a PDF or office document, including the wait for a process.",
			times: func(s *Status, emit emitTimes) { durations(s.Timings.Documents, emit) }},
		duplicates("sextant_duplicates_originals", gauge, "Documents with which others are compared.", func(d *copies.Status) float64 { return float64(d.Documents) }),
		duplicates("sextant_duplicates_known", gauge, "Known copies of them, which are not indexed.", func(d *copies.Status) float64 { return float64(d.Copies) }),
		duplicates("sextant_duplicates_found_total", counter, "Copies found.", func(d *copies.Status) float64 { return float64(d.Found) }),
		duplicates("sextant_duplicates_bytes", gauge, "Memory for finding copies.", func(d *copies.Status) float64 { return float64(d.Bytes) }),
		one("sextant_patterns_learnt", gauge, "Patterns of URLs that lead to copies, at most 20.", func(s *Status) float64 { return float64(len(orNone(s.Patterns).Learnt)) }),
		one("sextant_pattern_links_cut_total", counter, "Links not followed because of such a pattern.", func(s *Status) float64 { return float64(orNone(s.Patterns).Cut) }),
		one("sextant_trapped_links_total", counter, "Links refused by Traps and sitemaps refused by sitemapMaxPerHost.", func(s *Status) float64 { return float64(s.Trapped) }),
		one("sextant_unavailable_pages_total", counter, "Pages fetched after their unavailable_after date: they are not indexed.", func(s *Status) float64 { return float64(s.Unavailable) }),
		one("sextant_robots_origins_pending", gauge, "Origins whose stored URLs are being judged by a stricter robots.txt.", func(s *Status) float64 { return float64(orNone(s.Robots).Origins) }),
	}
}

// renderingMetrics returns the metrics of rendering and of main content.
func renderingMetrics() []metric {
	browser := section(func(s *Status) *render.Status { return s.Browser })
	main := section(func(s *Status) *meter.MainStatus { return orNone(s.Fields).Main })
	return []metric{
		byWord("sextant_rendered_pages_total", counter, "result", "Visits of pages to render, by result: rendered, failed, timed_out, or no_browser if none could be started.", func(s *Status) map[string]int64 {
			r := s.Rendered
			if r == nil {
				return nil
			}
			return map[string]int64{"rendered": r.Pages, "failed": r.Failed - r.TimedOut, "timed_out": r.TimedOut, "no_browser": r.NoBrowser}
		}),
		browser("sextant_browsers", gauge, "Running browsers; this and the other browser metrics are absent if no page is to be rendered.", func(b *render.Status) float64 { return float64(b.Running) }),
		browser("sextant_browsers_limit", gauge, "Maximum number of browsers.", func(b *render.Status) float64 { return float64(b.Limit) }),
		browser("sextant_browser_pages_rendering", gauge, "Pages open in a browser that is running or starting.", func(b *render.Status) float64 { return float64(b.Rendering) }),
		browser("sextant_browser_pages_waiting", gauge, "Pages in the queue for a browser.", func(b *render.Status) float64 { return float64(b.Waiting) }),
		browser("sextant_browser_down", gauge, "1 if the last attempt to start a browser failed.", func(b *render.Status) float64 { return yes(b.Trouble != "") }),
		main("sextant_main_content_pages_total", counter, "Pages searched for their main content.", func(m *meter.MainStatus) float64 { return float64(m.Pages) }),
		main("sextant_main_content_empty_total", counter, "Pages without main content: their whole text is indexed.", func(m *meter.MainStatus) float64 { return float64(m.Empty) }),
	}
}

func configMetrics() []metric {
	return []metric{
		one("sextant_database_set_back_timestamp_seconds", gauge, "Time when a node last noticed that the database lacked confirmed changes, as a Unix time; for a week.", func(s *Status) float64 { return stamp(orNone(s.Store).SetBackAt) }),
		one("sextant_crawl_log_failures_total", counter, "Failed writes of the crawl log: lines are kept in memory, and lost when it is full.", func(s *Status) float64 { return float64(s.CrawlLogFailures) }),
		one("sextant_config_loaded_timestamp_seconds", gauge, "Time when the configuration in force was read, as a Unix time.", func(s *Status) float64 { return stamp(s.ConfigLoadedAt) }),
		one("sextant_config_reload_failed", gauge, "1 while a changed configuration is refused; the old one is in force.", func(s *Status) float64 { return yes(s.ConfigError != "") }),
		one("sextant_rules_judging", gauge, "1 while stored URLs are judged by changed rules.", func(s *Status) float64 { return yes(s.Rules != nil && s.Rules.Running) }),
		one("sextant_rules_judged_urls", gauge, "Stored URLs judged since the rules changed.", func(s *Status) float64 { return float64(orNone(s.Rules).Judged) }),
	}
}
