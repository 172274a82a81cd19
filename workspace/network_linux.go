package workspace

import "golang.org/x/sys/unix"

// onThisMachine reports whether a directory lies on a file system of this
// machine's own, as far as can be told.
func onThisMachine(dir string) bool {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return true // what is wrong with it will show
	}
	switch int64(s.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.V9FS_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, unix.NCP_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC:
		return false
	}
	return true
}
