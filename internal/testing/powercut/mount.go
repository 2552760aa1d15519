package powercut

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// ErrUnavailable says that this machine cannot mount a FUSE file system.
var ErrUnavailable = errors.New("no FUSE here (it needs /dev/fuse and the right to mount)")

// Mount mounts the disk at dir until unmount is called; a disk is mounted once.
// unmount waits for all that programs wrote to have arrived; they must have ended.
// Do not use the mount from the process that serves it: a page fault that waits
// for a goroutine of its own process can block both.
func (d *Disk) Mount(dir string) (unmount func() error, err error) {
	long := time.Hour // nobody but the kernel changes anything
	server, err := fs.Mount(dir, &folder{disk: d}, &fs.Options{
		EntryTimeout: &long, AttrTimeout: &long,
		MountOptions: fuse.MountOptions{
			FsName: "powercut", Name: "powercut", DirectMount: true, DisableXAttrs: true, MaxWrite: 1 << 20,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return server.Unmount, nil
}

// folder is a directory of a mounted disk, file one of its files.
type folder struct {
	fs.Inode
	disk *Disk
}

type file struct {
	fs.Inode
	disk *Disk
	*content
}

var (
	_ fs.NodeOnAdder   = (*folder)(nil)
	_ fs.NodeCreater   = (*folder)(nil)
	_ fs.NodeMkdirer   = (*folder)(nil)
	_ fs.NodeRmdirer   = (*folder)(nil)
	_ fs.NodeUnlinker  = (*folder)(nil)
	_ fs.NodeRenamer   = (*folder)(nil)
	_ fs.NodeFsyncer   = (*folder)(nil)
	_ fs.NodeStatfser  = (*folder)(nil)
	_ fs.NodeGetattrer = (*file)(nil)
	_ fs.NodeSetattrer = (*file)(nil)
	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeWriter    = (*file)(nil)
	_ fs.NodeFsyncer   = (*file)(nil)
)

// path returns where a name of the folder is, seen from the disk's root.
func (n *folder) path(name string) string { return filepath.Join(n.Path(nil), name) }

// OnAdd makes the tree of what a disk was loaded with.
func (n *folder) OnAdd(ctx context.Context) {
	if !n.IsRoot() {
		return
	}
	folders := map[string]*fs.Inode{".": &n.Inode}
	for _, path := range slices.Sorted(maps.Keys(n.disk.folders)) { // parents first
		if path != "." {
			in := n.NewPersistentInode(ctx, &folder{disk: n.disk}, fs.StableAttr{Mode: fuse.S_IFDIR})
			folders[filepath.Dir(path)].AddChild(filepath.Base(path), in, true)
			folders[path] = in
		}
	}
	for path, c := range n.disk.first {
		in := n.NewPersistentInode(ctx, &file{disk: n.disk, content: c}, fs.StableAttr{})
		folders[filepath.Dir(path)].AddChild(filepath.Base(path), in, true)
	}
}

// Create implements fs.NodeCreater.
func (n *folder) Create(ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	c := newContent()
	n.disk.bind(map[string]*content{n.path(name): c})
	out.Mode = 0o644
	return n.NewPersistentInode(ctx, &file{disk: n.disk, content: c}, fs.StableAttr{}), nil, 0, 0
}

// Mkdir implements fs.NodeMkdirer.
func (n *folder) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.disk.folders[n.path(name)] = true
	out.Mode = 0o755
	return n.NewPersistentInode(ctx, &folder{disk: n.disk}, fs.StableAttr{Mode: fuse.S_IFDIR}), 0
}

// Rmdir implements fs.NodeRmdirer.
func (n *folder) Rmdir(_ context.Context, name string) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if child := n.GetChild(name); child != nil && len(child.Children()) > 0 {
		return syscall.ENOTEMPTY
	}
	delete(n.disk.folders, n.path(name))
	return 0
}

// Unlink implements fs.NodeUnlinker.
func (n *folder) Unlink(_ context.Context, name string) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.disk.bind(map[string]*content{n.path(name): nil})
	return 0
}

// Rename implements fs.NodeRenamer, for files.
func (n *folder) Rename(_ context.Context, name string, parent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	moved, ok := n.GetChild(name).Operations().(*file)
	to, isFolder := parent.(*folder)
	if !ok || !isFolder || flags != 0 {
		return syscall.ENOTSUP
	}
	n.disk.bind(map[string]*content{n.path(name): nil, to.path(newName): moved.content})
	return 0
}

// Fsync implements fs.NodeFsyncer for the folder.
func (n *folder) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.disk.syncFolder(filepath.Clean("./" + strings.TrimPrefix(n.Path(nil), "/")))
	return 0
}

// Statfs implements fs.NodeStatfser: there is always room.
func (n *folder) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	const blocks = 1 << 28 // a tebibyte
	out.Bsize, out.Frsize, out.NameLen = pageSize, pageSize, 255
	out.Blocks, out.Bfree, out.Bavail = blocks, blocks, blocks
	out.Files, out.Ffree = blocks, blocks
	return 0
}

// Getattr implements fs.NodeGetattrer.
func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	out.Mode, out.Size, out.Blocks = 0o644, uint64(f.now.size), uint64(len(f.now.pages)*pageSize/sectorSize)
	return 0
}

// Setattr implements fs.NodeSetattrer; sizes alone are kept.
func (f *file) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		f.disk.mu.Lock()
		f.resize(int64(size))
		f.disk.mu.Unlock()
	}
	return f.Getattr(ctx, h, out)
}

// Open implements fs.NodeOpener.
func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Read implements fs.NodeReader.
func (f *file) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return fuse.ReadResultData(dest[:f.read(dest, off)]), 0
}

// Write implements fs.NodeWriter.
func (f *file) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.write(data, off)
	return uint32(len(data)), 0
}

// Fsync implements fs.NodeFsyncer.
func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.syncFile(f.content)
	return 0
}
