package kerberos

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// kdc is a small KDC of several realms in memory, for what MIT's cannot be made to do: let hours pass, stay silent,
// send nonsense. Its goroutines end with their connections.
type kdc struct {
	keys *keytab.Keytab
	life time.Duration

	mu     sync.Mutex
	refer  map[string]string // realm to which the KDC at an address refers for services it does not have
	answer []byte            // is sent in place of what is right
	code   int32             // of the error that is sent
	silent map[string]bool   // addresses that take a request and say nothing
	away   map[string]bool   // that cannot be reached
	dialed []string
}

const cipher = etypeID.AES256_CTS_HMAC_SHA1_96

func newKDC(t testing.TB, principals ...[2]string) *kdc {
	t.Helper()
	k := &kdc{keys: keytab.New(), life: 10 * time.Hour, refer: map[string]string{}, silent: map[string]bool{}, away: map[string]bool{}}
	for _, p := range principals {
		if err := k.keys.AddEntry(p[0], p[1], "password of "+p[0], time.Unix(1, 0), 1, cipher); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// set changes the KDC while it may be asked.
func (k *kdc) set(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

func (k *kdc) dial(_ context.Context, _, address string) (net.Conn, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dialed = append(k.dialed, address)
	if k.away[address] {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	client, server := net.Pipe()
	go k.serve(server, address)
	return client, nil
}

func (k *kdc) serve(conn net.Conn, address string) {
	defer conn.Close()
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return
	}
	message := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(conn, message); err != nil {
		return
	}
	k.mu.Lock()
	answer, silent := k.answer, k.silent[address]
	if answer == nil && !silent {
		answer = k.reply(message)
		answer = append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...)
	}
	k.mu.Unlock()
	if silent {
		_, _ = conn.Read(head[:]) // until the client gives up
		return
	}
	_, _ = conn.Write(answer)
}

// reply returns the answer to a message; its caller holds mu.
func (k *kdc) reply(message []byte) []byte {
	var as messages.ASReq
	var tgs messages.TGSReq
	var out []byte
	err := as.Unmarshal(message)
	switch {
	case k.code != 0:
		err = messages.NewKRBError(grantingService("A"), "A", k.code, "told")
	case err == nil:
		out, err = k.grants(&as)
	default:
		if err = tgs.Unmarshal(message); err == nil {
			out, err = k.serves(&tgs)
		}
	}
	if err == nil {
		return out
	}
	refused, ok := errors.AsType[messages.KRBError](err)
	if !ok {
		refused = messages.NewKRBError(grantingService("A"), "A", errorcode.KRB_ERR_GENERIC, err.Error())
	}
	out, _ = refused.Marshal()
	return out
}

func (k *kdc) ticket(name types.PrincipalName, realm string, service types.PrincipalName, of string) (messages.Ticket, messages.EncKDCRepPart, error) {
	now := time.Now().UTC()
	end := now.Add(k.life)
	ticket, key, err := messages.NewTicket(name, realm, service, of, types.NewKrbFlags(), k.keys, cipher, 1, now, now, end, end)
	return ticket, messages.EncKDCRepPart{
		Key: key, LastReqs: []messages.LastReq{{LRValue: now}}, Flags: types.NewKrbFlags(),
		AuthTime: now, StartTime: now, EndTime: end, RenewTill: end, SRealm: of, SName: service,
	}, err
}

func (k *kdc) grants(req *messages.ASReq) ([]byte, error) {
	b := req.ReqBody
	key, _, err := k.keys.GetEncryptionKey(b.CName, b.Realm, 1, cipher)
	if err != nil {
		return nil, messages.NewKRBError(b.SName, b.Realm, errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN, "")
	}
	ticket, part, err := k.ticket(b.CName, b.Realm, b.SName, b.Realm)
	if err != nil {
		return nil, err
	}
	part.Nonce = b.Nonce
	rep := messages.ASRep{KDCRepFields: messages.KDCRepFields{PVNO: 5, MsgType: msgtype.KRB_AS_REP, CRealm: b.Realm, CName: b.CName, Ticket: ticket}}
	if rep.EncPart, err = seal(part, key, keyusage.AS_REP_ENCPART); err != nil {
		return nil, err
	}
	return rep.Marshal()
}

func seal(part messages.EncKDCRepPart, key types.EncryptionKey, usage uint32) (types.EncryptedData, error) {
	plain, err := part.Marshal()
	if err != nil {
		return types.EncryptedData{}, err
	}
	return crypto.GetEncryptedData(plain, key, usage, 1)
}

func (k *kdc) serves(req *messages.TGSReq) ([]byte, error) {
	b := req.ReqBody
	var by messages.APReq
	if err := by.Unmarshal(req.PAData[0].PADataValue); err != nil {
		return nil, err
	}
	if err := by.Ticket.DecryptEncPart(k.keys, &by.Ticket.SName); err != nil {
		return nil, err
	}
	granted := by.Ticket.DecryptedEncPart
	if err := by.DecryptAuthenticator(granted.Key); err != nil {
		return nil, err
	}
	if by.Authenticator.CRealm != granted.CRealm || !by.Authenticator.CName.Equal(granted.CName) {
		return nil, messages.NewKRBError(b.SName, b.Realm, errorcode.KRB_AP_ERR_BADMATCH, "")
	}
	service := b.SName
	if _, _, err := k.keys.GetEncryptionKey(service, b.Realm, 1, cipher); err != nil {
		if k.refer[b.Realm] == "" {
			return nil, messages.NewKRBError(b.SName, b.Realm, errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN, "")
		}
		service = grantingService(k.refer[b.Realm])
	}
	ticket, part, err := k.ticket(granted.CName, granted.CRealm, service, b.Realm)
	if err != nil {
		return nil, err
	}
	part.Nonce = b.Nonce
	rep := messages.TGSRep{KDCRepFields: messages.KDCRepFields{PVNO: 5, MsgType: msgtype.KRB_TGS_REP, CRealm: granted.CRealm, CName: granted.CName, Ticket: ticket}}
	if rep.EncPart, err = seal(part, granted.Key, keyusage.TGS_REP_ENCPART_SESSION_KEY); err != nil {
		return nil, err
	}
	return rep.Marshal()
}
