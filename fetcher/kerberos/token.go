package kerberos

import (
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Ticket is the client's ticket for one service.
type Ticket struct {
	name   types.PrincipalName
	realm  string
	ticket *ticket
	spn    string
}

// String returns the service's name only.
func (t *Ticket) String() string { return "ticket for " + t.spn }

// GoString returns String for %#v.
func (t *Ticket) GoString() string { return t.String() }

// Proof verifies a server's response to a token.
type Proof struct {
	proof types.Authenticator
	key   types.EncryptionKey
	spn   string
}

// Token creates the token for one request. Each is used once, because servers reject a second use as a replay. It also
// requires the server to prove its identity.
func (t *Ticket) Token() ([]byte, *Proof, error) {
	proof, err := types.NewAuthenticator(t.realm, t.name)
	if err != nil {
		return nil, nil, err
	}
	// RFC 4121 section 4.1.1: no channel binding, mutual authentication.
	sum := make([]byte, 24)
	binary.LittleEndian.PutUint32(sum, 16)
	binary.LittleEndian.PutUint32(sum[20:], gssapi.ContextFlagMutual)
	proof.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: sum}
	req, err := messages.NewAPReq(t.ticket.ticket, t.ticket.key, proof)
	if err != nil {
		return nil, nil, err
	}
	types.SetFlag(&req.APOptions, flags.APOptionMutualRequired)
	inner, err := req.Marshal()
	if err != nil {
		return nil, nil, err
	}
	token, err := negotiation(inner)
	return token, &Proof{proof, t.ticket.key, t.spn}, err
}

// Object identifiers of mechanisms, in DER.
const (
	oidKerberos = "\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" // 1.2.840.113554.1.2.2
	oidSPNEGO   = "\x06\x06\x2b\x06\x01\x05\x05\x02"             // 1.3.6.1.5.5.2
)

// Types of a token of RFC 4121 section 4.1.
const (
	apRequest = "\x01\x00"
	apReply   = "\x02\x00"
	krbError  = "\x03\x00"
)

// negotiation returns the first SPNEGO token (RFC 4178 section 4.2.1), with that of Kerberos.
func negotiation(request []byte) ([]byte, error) {
	mechanism := asn1tools.AddASNAppTag(append([]byte(oidKerberos+apRequest), request...), 0)
	list, err := asn1.Marshal(struct {
		Mechanisms []asn1.RawValue `asn1:"explicit,tag:0"`
		Token      []byte          `asn1:"explicit,tag:2"`
	}{[]asn1.RawValue{{FullBytes: []byte(oidKerberos)}}, mechanism})
	if err != nil {
		return nil, err
	}
	choice, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: list})
	if err != nil {
		return nil, err
	}
	return asn1tools.AddASNAppTag(append([]byte(oidSPNEGO), choice...), 0), nil
}

// answer is the server's SPNEGO token (RFC 4178 section 4.2.2).
type answer struct {
	State     asn1.Enumerated       `asn1:"explicit,optional,tag:0,default:-1"`
	Mechanism asn1.ObjectIdentifier `asn1:"explicit,optional,tag:1"`
	Token     []byte                `asn1:"explicit,optional,tag:2"`
	MIC       []byte                `asn1:"explicit,optional,tag:3"`
}

const stateReject = 2

// mechanismToken returns the Kerberos token inside a server's, with its type; both are empty if the server sends none.
func mechanismToken(token []byte) (kind string, inner []byte, err error) {
	malformed := errors.New("its Negotiate token is malformed")
	if len(token) > 0 && token[0] == 0xa1 {
		var a answer
		if rest, err := asn1.UnmarshalWithParams(token, &a, "explicit,tag:1"); err != nil || len(rest) > 0 {
			return "", nil, malformed
		}
		if token = a.Token; len(token) == 0 {
			if a.State == stateReject {
				return "", nil, errors.New("it rejects the ticket")
			}
			return "", nil, nil
		}
	}
	var framed asn1.RawValue
	if rest, err := asn1.Unmarshal(token, &framed); err != nil || len(rest) > 0 || framed.Class != asn1.ClassApplication || framed.Tag != 0 {
		return "", nil, malformed
	}
	const head = len(oidKerberos) + len(apReply)
	if b := framed.Bytes; len(b) > head && string(b[:len(oidKerberos)]) == oidKerberos {
		return string(b[len(oidKerberos):head]), b[head:], nil
	}
	return "", nil, malformed
}

// maxToken bounds a server's token: a response has some 200 bytes.
const maxToken = 16 << 10

// Verify reports whether the server's token proves that it is the service of the ticket. A token without a Kerberos
// response proves nothing, and is not an error.
func (p *Proof) Verify(token []byte) (proved bool, err error) {
	if len(token) > maxToken {
		return false, fmt.Errorf("the server's Negotiate token has %d bytes, more than %d", len(token), maxToken)
	}
	kind, inner, err := mechanismToken(token)
	switch {
	case err != nil:
		return false, fmt.Errorf("the server: %w", err)
	case kind == "":
		return false, nil
	case kind == krbError:
		return false, p.refusal(inner)
	case kind != apReply:
		return false, errors.New("the server does not respond to the ticket with a Kerberos message")
	}
	var part messages.EncAPRepPart
	err = decode(func() error {
		var reply messages.APRep
		if err := reply.Unmarshal(inner); err != nil {
			return err
		}
		plain, err := crypto.DecryptEncPart(reply.EncPart, p.key, keyusage.AP_REP_ENCPART)
		if err != nil {
			return err
		}
		return part.Unmarshal(plain)
	})
	if err != nil || part.CTime.Unix() != p.proof.CTime.Unix() || part.Cusec != p.proof.Cusec {
		return false, fmt.Errorf("the server does not prove that it is %s", p.spn)
	}
	return true, nil
}

// Accepts reports whether a server's token claims that it accepted a ticket. Verify checks that claim.
func Accepts(token []byte) bool {
	kind, _, err := mechanismToken(token)
	return err == nil && kind == apReply
}

// refusal returns the Kerberos error in a server's token.
func (p *Proof) refusal(inner []byte) error {
	var e messages.KRBError
	if decode(func() error { return e.Unmarshal(inner) }) != nil {
		return errors.New("the server's Kerberos error is malformed")
	}
	switch e.ErrorCode {
	case errorcode.KRB_AP_ERR_SKEW:
		return errors.New("the clocks of this machine and of the server differ by more than 5m: synchronize both with NTP")
	case errorcode.KRB_AP_ERR_MODIFIED, errorcode.KRB_AP_ERR_BAD_INTEGRITY, errorcode.KRB_AP_ERR_BADKEYVER, errorcode.KRB_AP_ERR_NOKEY, errorcode.KRB_AP_ERR_NOT_US:
		return fmt.Errorf("the server cannot read the ticket for %s: its keytab is old or lacks that service, or the service belongs to another account", p.spn)
	}
	return fmt.Errorf("the server rejects the ticket for %s: %s", p.spn, printable(errorcode.Lookup(e.ErrorCode)))
}
