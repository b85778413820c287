package server

import (
	"io"
	"sync"

	"pleat"
	"pleat/internal/store"
)

// maxUploads is how many uploads a user may have under way on this node.
const maxUploads = 4

// uploadCount counts the uploads under way on this node, by user. It bounds what they write before the store can count
// it: what a user's uploads have received, together with what the library holds, stays within the user's limit. The
// zero value has none.
type uploadCount struct {
	mu    sync.Mutex
	users map[pleat.UserID]*uploading
}

// uploading is what one user is uploading.
type uploading struct {
	requests  int
	bytes     int64               // received of files that are not in the library yet
	replacing map[libraryFile]int // uploads of files that will replace one of the library
}

// libraryFile identifies a file of a library.
type libraryFile struct {
	item pleat.ItemID
	name string
}

// upload is one request that uploads files. End must be called once.
type upload struct {
	all  *uploadCount
	user pleat.UserID
}

// begin counts another upload of a user. CodeLimited: the user has maxUploads under way.
func (u *uploadCount) begin(user pleat.UserID) (*upload, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.users == nil {
		u.users = map[pleat.UserID]*uploading{}
	}
	of := u.users[user]
	if of == nil {
		of = &uploading{replacing: map[libraryFile]int{}}
		u.users[user] = of
	}
	if of.requests == maxUploads {
		return nil, pleat.Errorf(pleat.CodeLimited,
			"you have %d uploads under way, which is the most at a time; try again when one has ended", of.requests)
	}
	of.requests++
	return &upload{u, user}, nil
}

// end forgets the upload.
func (up *upload) end() {
	up.all.mu.Lock()
	defer up.all.mu.Unlock()
	of := up.all.users[up.user]
	if of.requests--; of.requests == 0 {
		delete(up.all.users, up.user)
	}
}

// incoming is a file that is being received. It reads from r and counts what it reads; Read returns a *pleat.Error with
// CodeTooLarge when the library would hold more than its limit. Done must be called once, after the store has counted
// the file or refused it.
type incoming struct {
	r        io.Reader
	up       *upload
	file     libraryFile
	most     int64 // bytes that the library may hold; 0: no limit
	used     int64 // bytes that it holds, without those of the file that this one replaces
	received int64
}

// receive starts to count a file of an upload. Most is the limit of the library, 0 for none, and used is what it holds
// now, of which replaced is that of the file with the same name; of several uploads in its place only one gets its
// room.
func (up *upload) receive(r io.Reader, f libraryFile, use store.LibraryUse, replaced, most int64) *incoming {
	up.all.mu.Lock()
	defer up.all.mu.Unlock()
	of := up.all.users[up.user]
	if of.replacing[f]++; of.replacing[f] > 1 {
		replaced = 0
	}
	return &incoming{r: r, up: up, file: f, most: most, used: use.Bytes - replaced}
}

// Read reads the next part of the file.
func (in *incoming) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	in.up.all.mu.Lock()
	defer in.up.all.mu.Unlock()
	of := in.up.all.users[in.up.user]
	of.bytes += int64(n)
	in.received += int64(n)
	if in.most > 0 && in.used+of.bytes > in.most && n > 0 {
		return 0, store.ErrLibraryFull(in.most, in.used, of.bytes, "what you are uploading")
	}
	return n, err
}

// done forgets the file.
func (in *incoming) done() {
	in.up.all.mu.Lock()
	defer in.up.all.mu.Unlock()
	of := in.up.all.users[in.up.user]
	of.bytes -= in.received
	if of.replacing[in.file]--; of.replacing[in.file] == 0 {
		delete(of.replacing, in.file)
	}
}
