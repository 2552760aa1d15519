// Package kerberos gets tickets for web servers (RFC 4120) and makes the tokens that
// these take (SPNEGO, RFC 4178 and 4559). It owns the tickets of one principal.
//
// Messages, keys and ciphers are those of gokrb5. The exchanges are made here: that
// library's client has goroutines that outlive it, dials without a context, follows
// referrals to servers that nobody named, and takes as much memory as a KDC asks for.
//
// # What is asked, and of whom
//
// Only the KDCs that the settings name are dialled, over TCP, each with a time limit;
// DNS is not asked where the KDCs of a realm are. A referral to another realm is
// followed if that realm has KDCs in the settings. There are no goroutines: LogIn and
// Service make their requests in that of the caller, one at a time. A Client is safe for
// concurrent use; its mutex is not held over a request.
//
// # Secrets
//
// No error holds a key, a ticket or a password. Errors are words for an operator: which
// step failed, at which server, and what to do.
package kerberos
