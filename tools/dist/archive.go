package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// beside are the files of the sources that an archive has beside the program.
var beside = []string{"CHANGELOG.md", "LICENSE", "README.md"}

// archive writes the archive of a platform: one folder with the program and texts.
func (o options) archive(p platform) error {
	name := "pleat_" + o.version + "_" + p.String()
	out, err := os.Create(filepath.Join(o.out, name+".tar.gz"))
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(out) // the best level takes three times as long, for 0.3 % less
	w := archive{tar.NewWriter(packed), name, o.time()}
	err = w.add("pleat", o.program(p), 0o755)
	for _, file := range beside {
		if err == nil {
			err = w.add(file, filepath.Join(o.root, file), 0o644)
		}
	}
	if err == nil {
		err = w.add("licences.txt", o.licences, 0o644)
	}
	if err := errors.Join(err, w.tar.Close(), packed.Close(), out.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// archive is an archive that is being written. Everything has one time and belongs to root, whoever makes it.
type archive struct {
	tar    *tar.Writer
	folder string
	time   time.Time
}

// add adds a file of the disk.
func (a archive) add(name, from string, mode int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	err = a.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg,
		Name:     a.folder + "/" + name,
		Size:     info.Size(),
		Mode:     mode,
		ModTime:  a.time,
		Format:   tar.FormatPAX,
	})
	if err == nil {
		_, err = io.Copy(a.tar, in)
	}
	return err
}
