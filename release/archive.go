package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// archive writes the archive of an edition for a platform. It also has the list of its files,
// with which the install script removes them.
func (r *release) archive(p platform, e edition, tree []file) error {
	const list = docDir + "files"
	paths := []string{list}
	for _, f := range tree {
		paths = append(paths, f.path)
	}
	slices.Sort(paths)
	tree = append(slices.Clone(tree), file{path: list, data: []byte(strings.Join(paths, "\n") + "\n")})
	b, err := tarball(r.date, prefixed(r.name(p, e), tree))
	if err != nil {
		return err
	}
	return r.write(r.name(p, e)+".tar.gz", b)
}

// prefixed returns files in a directory.
func prefixed(dir string, list []file) []file {
	list = slices.Clone(list)
	for i := range list {
		list[i].path = dir + "/" + list[i].path
	}
	return list
}

// tarball returns a compressed archive of files, in the order of their paths.
func tarball(date time.Time, list []file) ([]byte, error) {
	list = sorted(list)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range list {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Size: int64(len(f.data)), Mode: int64(f.perm()),
			ModTime: date, Format: tar.FormatUSTAR}
		if f.link != "" {
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.link, 0o777
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return compress(date, b.Bytes())
}

func compress(date time.Time, b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w.ModTime = date
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// zipped returns an archive of files without links, in the order of their paths.
func zipped(date time.Time, list []file) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, f := range sorted(list) {
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: date}
		h.SetMode(fs.FileMode(f.perm()))
		entry, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func sorted(list []file) []file {
	return slices.SortedFunc(slices.Values(list), func(a, b file) int { return strings.Compare(a.path, b.path) })
}
