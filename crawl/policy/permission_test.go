package policy

import "testing"

// TestIsPermission: no spelling of the names gets by that a target would take for one of them.
func TestIsPermission(t *testing.T) {
	for name, want := range map[string]bool{
		"acl_allow": true, "ACL_DENY": true, "acl-allow": true, "acl.allow": true, "aclallow": true, "security": true,
		"acl allow\u00a0": true, "\u200bacl_allow": true, "Acl_Allow\x00": true, "acl_allowed": false, "acl_allow2": false,
		"acl": false, "": false, "content-security-policy": false,
	} {
		if got := IsPermission(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if n := testing.AllocsPerRun(100, func() { IsPermission("content-security-policy") }); n > 0 {
		t.Errorf("%v allocations for each meta", n)
	}
}
