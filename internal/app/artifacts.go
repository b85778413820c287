package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"pleat/internal/blob"
	"pleat/internal/config"
	"pleat/internal/store"
	"pleat/internal/store/ops"
	"pleat/internal/words"
)

// A marker is an object of an artifact store by which a database recognises it: the database stores the marker's name,
// and the marker that of the database. Every node that finds no store in the database writes a marker of its own before
// it asks the database to adopt it. The database adopts one, and the others are deleted. So nodes that start at once
// with one store agree, and one with another store does not find the marker and ends.
type marker struct {
	Database string `json:"database"`
}

const (
	// markerPrefix is outside the prefixes of runs and library files, which garbage collection walks.
	markerPrefix = "store/"
	// maxMarkers is how many markers are read: there is one, and one for each node that died while it wrote its own.
	maxMarkers = 64
	maxMarker  = 4096 // bytes
)

// markerKey returns the key of a marker.
func markerKey(name string) string { return markerPrefix + name + ".json" }

// readMarkers returns the markers of an artifact store, by name.
func readMarkers(ctx context.Context, b blob.Store) (map[string]marker, error) {
	out := map[string]marker{}
	enough := errors.New("enough")
	err := b.Walk(ctx, markerPrefix, time.Time{}, func(i blob.Info) error {
		name, ok := strings.CutSuffix(path.Base(i.Key), ".json")
		if !ok || i.Key != markerKey(name) {
			return nil
		}
		m, err := readMarker(ctx, b, name)
		if err != nil && !errors.Is(err, blob.ErrNotFound) { // another node may have deleted its own
			return err
		}
		if err == nil {
			out[name] = m
		}
		if len(out) == maxMarkers {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the markers of the artifact store: %w", err)
	}
	return out, nil
}

// readMarker returns a marker; blob.ErrNotFound if there is none. One that is damaged names no database.
func readMarker(ctx context.Context, b blob.Store, name string) (marker, error) {
	var m marker
	f, _, err := b.Open(ctx, markerKey(name))
	if err != nil {
		return m, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMarker))
	if err == nil {
		_ = json.Unmarshal(text, &m)
	}
	return m, err
}

// CheckArtifacts refuses an artifact store that is not that of the database, with a UsageError. A database that has
// none yet may get any that belongs to no other database. It writes nothing.
func CheckArtifacts(ctx context.Context, c config.Config, s *store.Store, b blob.Store) error {
	seen, err := readMarkers(ctx, b) // before the database is read, see checkMarkers
	if err != nil {
		return err
	}
	state, err := s.Ops.Service(ctx)
	if err != nil {
		return err
	}
	return checkMarkers(ctx, c, b, seen, state)
}

// checkMarkers is CheckArtifacts with the markers that were seen before the state was read. In that order a marker
// whose database is not named in the state is not this database's.
func checkMarkers(
	ctx context.Context, c config.Config, b blob.Store, seen map[string]marker, state ops.Service,
) error {
	if state.Artifacts == nil {
		return refuseForeign(c, seen, state.Database)
	}
	_, err := readMarker(ctx, b, state.Artifacts.Marker)
	if !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	has := "has no marker"
	for name, m := range seen {
		has = "has the marker " + name
		if m.Database != state.Database {
			has += " of another database"
		}
	}
	unset := ""
	if c.Blobs == "" {
		unset = "blobs is not set, and "
	}
	const text = "%sthis artifact store is not the one of the database: it is %s and %s; " +
		"the database expects the marker %s, which it adopted at %s; set blobs (PLEAT_BLOBS) to the store that all " +
		"nodes share, or, if its files were moved here, stop all nodes and run: pleat fsck --adopt"
	return UsageError{fmt.Errorf(text, unset, artifactAddress(c), has, state.Artifacts.Marker,
		state.Artifacts.Address)}
}

// refuseForeign refuses an artifact store that has the marker of another database than the one named.
func refuseForeign(c config.Config, seen map[string]marker, database string) error {
	for name, m := range seen {
		if m.Database != database || database == "" {
			const text = "the artifact store %s belongs to another database, by its marker %s: each would delete " +
				"the files of the other; choose an empty folder, bucket or prefix with blobs (PLEAT_BLOBS), or, if " +
				"no other database uses it any more, run: pleat migrate, then pleat fsck --adopt"
			return UsageError{fmt.Errorf(text, artifactAddress(c), name)}
		}
	}
	return nil
}

// adoptFirst makes the artifact store that of the database if the database has none. It refuses a store with none of
// the files that the rows of an older database refer to, and one that is not the store of another node that was first.
func adoptFirst(ctx context.Context, c config.Config, s *store.Store, b blob.Store) error {
	state, err := s.Ops.Service(ctx)
	if err != nil {
		return err
	}
	if state.Artifacts != nil { // another node was first
		return CheckArtifacts(ctx, c, s, b)
	}
	if err := refuseEmpty(ctx, c, s, b); err != nil {
		return err
	}
	a, database, err := writeMarker(ctx, c, s, b)
	if err != nil {
		return err
	}
	// Another database may have written its marker in the meantime.
	seen, err := readMarkers(ctx, b)
	if err != nil {
		return err
	}
	if err := refuseForeign(c, seen, database); err != nil {
		return errors.Join(err, b.Delete(ctx, markerKey(a.Marker)))
	}
	// After an error the marker stays: the database may have adopted it before the connection broke.
	adopted, err := s.Ops.AdoptArtifacts(ctx, a)
	if err != nil || adopted.Marker == a.Marker {
		return err
	}
	return errors.Join(b.Delete(ctx, markerKey(a.Marker)), CheckArtifacts(ctx, c, s, b))
}

// sampled is how many files refuseEmpty looks for.
const sampled = 20

// refuseEmpty refuses an artifact store that has none of the first files that the database refers to.
func refuseEmpty(ctx context.Context, c config.Config, s *store.Store, b blob.Store) error {
	refs, err := s.Ops.BlobRefs(ctx, "", sampled)
	if err != nil || len(refs) == 0 {
		return err
	}
	for _, r := range refs {
		f, _, err := b.Open(ctx, r.Key)
		if err == nil {
			return f.Close()
		}
		if !errors.Is(err, blob.ErrNotFound) {
			return err
		}
	}
	const text = "the artifact store %s has none of the files of the database, such as %s; set blobs (PLEAT_BLOBS) " +
		"to the store that all nodes share, or, if the files are lost, run: pleat fsck --adopt"
	return UsageError{fmt.Errorf(text, artifactAddress(c), refs[0].Key)}
}

// writeMarker writes a new marker into the artifact store, and returns what the database must know of it.
func writeMarker(ctx context.Context, c config.Config, s *store.Store, b blob.Store) (
	a ops.ArtifactStore, database string, err error,
) {
	a = ops.ArtifactStore{Marker: uuid.NewString(), Address: artifactAddress(c)}
	if database, err = s.Ops.NameDatabase(ctx); err != nil {
		return a, "", err
	}
	text, err := json.Marshal(marker{Database: database})
	if err == nil {
		_, err = b.Put(ctx, markerKey(a.Marker), strings.NewReader(string(text)+"\n"))
	}
	if err != nil {
		err = fmt.Errorf("mark the artifact store: %w", err)
	}
	return a, database, err
}

// AdoptArtifacts makes the artifact store that of the database, whichever it had before and whichever database the
// store belonged to: all other markers of the store are deleted. No node may run.
func AdoptArtifacts(ctx context.Context, c config.Config, s *store.Store, b blob.Store) error {
	seen, err := readMarkers(ctx, b)
	if err != nil {
		return err
	}
	a, _, err := writeMarker(ctx, c, s, b)
	if err != nil {
		return err
	}
	if err := s.Ops.ReplaceArtifacts(ctx, a); err != nil {
		return err
	}
	for name := range seen {
		if err := b.Delete(ctx, markerKey(name)); err != nil {
			return err
		}
	}
	return nil
}

// MissingArtifacts returns the folder of the artifact store if it is a folder that does not exist.
func MissingArtifacts(c config.Config) (folder string, missing bool) {
	folder, ok := strings.CutPrefix(c.BlobAddress(), "dir:")
	if !ok {
		return "", false
	}
	_, err := os.Stat(folder)
	return folder, errors.Is(err, fs.ErrNotExist)
}

// artifactAddress returns the address of the artifact store without secrets, which says the same on every machine.
func artifactAddress(c config.Config) string {
	if folder, ok := strings.CutPrefix(c.BlobAddress(), "dir:"); ok {
		if abs, err := filepath.Abs(folder); err == nil {
			folder = abs
		}
		return words.Address("dir:" + folder)
	}
	return words.Address(c.BlobAddress())
}
