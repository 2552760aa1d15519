package testport

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// Whose reports whether the process pid has the other end of an IPv4 connection to this machine: local and remote are its addresses as that
// process sees them. It is for Linux.
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
	return false, nil // it is closed
}

// has reports whether a process has a file open.
func has(pid int, file string) (bool, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	all, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, fd := range all {
		if to, err := os.Readlink(dir + "/" + fd.Name()); err == nil && to == file { // it may be closed meanwhile
			return true, nil
		}
	}
	return false, nil
}

// inTable returns an address as the kernel's table of connections has it.
func inTable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || tcp.IP.To4() == nil {
		return ""
	}
	ip := tcp.IP.To4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], tcp.Port)
}
