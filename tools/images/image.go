package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Annotations of an archive's index with the name of its image: podman and skopeo use the first, Docker the second.
const (
	refName        = "org.opencontainers.image.ref.name"
	containerdName = "io.containerd.image.name"
)

// archive writes the image as an OCI archive: a tar file of an OCI layout. The file appears complete or not at all.
func (b *builder) archive(r recipe, path string) error {
	img, err := b.image(r)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.scratch, "layout")
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	platform := v1.Platform{OS: "linux", Architecture: runtime.GOARCH}
	err = at.AppendImage(img, layout.WithPlatform(platform),
		layout.WithAnnotations(map[string]string{refName: r.name, containerdName: "docker.io/library/" + r.name}))
	if err != nil {
		return err
	}
	files := newTree()
	if err := files.addFolder("", dir, nil); err != nil {
		return err
	}
	out, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	err = errors.Join(files.write(out, b.time), out.Close())
	if err == nil {
		err = os.Rename(path+".part", path)
	}
	return err
}

// image returns the image of a recipe.
func (b *builder) image(r recipe) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for i, t := range r.layers {
		layer, err := b.layer(t, fmt.Sprintf("layer-%d.tar", i))
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: v1.Time{Time: b.time}, CreatedBy: "pleat-images"},
		})
		if err != nil {
			return nil, err
		}
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", runtime.GOARCH, v1.Time{Time: b.time}
	file.Config = b.config(r)
	return mutate.ConfigFile(img, file)
}

// config returns how a container of the image starts.
func (b *builder) config(r recipe) v1.Config {
	c := v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Entrypoint:   []string{"/usr/bin/pleat"},
		Cmd:          r.cmd,
		Env:          r.env,
		WorkingDir:   "/data",
		StopSignal:   "SIGTERM",
		ExposedPorts: map[string]struct{}{},
		Volumes:      map[string]struct{}{},
		Labels: map[string]string{
			"org.opencontainers.image.title":    r.title,
			"org.opencontainers.image.version":  b.version,
			"org.opencontainers.image.revision": b.revision,
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.created":  b.time.Format(time.RFC3339),
		},
	}
	for _, p := range r.ports {
		c.ExposedPorts[p] = struct{}{}
	}
	for _, p := range r.places {
		c.Volumes[p] = struct{}{}
	}
	return c
}

// layer writes a tree to the disk and returns it as a layer, which is compressed when it is read.
func (b *builder) layer(t *tree, name string) (v1.Layer, error) {
	path := filepath.Join(b.scratch, name)
	out, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.write(out, b.time), out.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return os.Open(path) },
		tarball.WithMediaType(types.OCILayer))
}
