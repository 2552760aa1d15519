// Package kerberos gets tickets for web servers (RFC 4120) and creates the tokens for them (SPNEGO, RFC 4178 and 4559).
// It owns the tickets of one principal.
//
// Messages, keys and ciphers are those of gokrb5. The exchanges are implemented here: the library's client has
// goroutines that outlive it, dials without a context, follows referrals to servers that are not configured, and
// allocates as much memory as a KDC requests.
//
// # Network use
//
// Only the configured KDCs are dialled, over TCP, each with a time limit; DNS is not used to find the KDCs of a realm.
// A referral to another realm is followed if that realm has KDCs in the settings. There are no goroutines: LogIn and
// Service make their requests in that of the caller, one at a time. A Client is safe for concurrent use; its mutex is
// not held over a request.
//
// # Secrets
//
// No error contains a key, a ticket or a password. Errors are for operators: which step failed, at which server, and
// what to do.
package kerberos
