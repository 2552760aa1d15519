// Package robots reads, keeps and asks robots.txt (RFC 9309).
package robots
