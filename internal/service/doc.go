// Package service is the running process: it opens the stores and targets of its Crawlers,
// the socket and the port, runs the crawls, reloads the configuration, and stops all of it in
// order. Order.go is the one place for both orders, of reloading and of stopping. Commands
// use what it has for working on a store without a service: Home, Settings, DryRun.
//
// Goroutines. Service.Run starts one for each Crawler, and one each for the door (package
// admin), notices, the watch of the configuration's folder, the memory limit, systemd (which
// starts three: status, watchdog, SIGHUP), and for patience while it stops; it waits for all.
// Beside it run one that writes the line on a terminal, one that asks systemd for patience
// while stores are opened and closed; each ends by the function that starting it returned.
//
// Locks. Service.reloading makes one reload at a time; it is held over the whole of it.
// baseline.mu guards what the file on this machine names, also over reading and writing
// that. Neither is taken while the other is waited for in turn: a reload takes reloading
// first, then mu.
package service
