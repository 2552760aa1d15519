package testport

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// Whose reports whether the process pid has the other end of an IPv4 connection to this machine: local and remote are
// its addresses as seen by that process. It requires Linux.
func Whose(pid int, local, remote net.Addr) (bool, error) {
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		return false, err
	}
	from, to := inTable(local), inTable(remote)
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[1] != from || fields[2] != to {
			continue
		}
		return has(pid, "socket:["+fields[9]+"]")
	}
	return false, nil // closed
}

// has reports whether a process has a file open.
func has(pid int, file string) (bool, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	all, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, fd := range all {
		if to, err := os.Readlink(dir + "/" + fd.Name()); err == nil && to == file { // it may be closed in the meantime
			return true, nil
		}
	}
	return false, nil
}

// inTable returns an address in the form of the kernel's table of connections.
func inTable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || tcp.IP.To4() == nil {
		return ""
	}
	ip := tcp.IP.To4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], tcp.Port)
}
