package library

import (
	"io"
	"sync"

	"pleat"
	"pleat/internal/store/people"
)

// MaxUploads is how many uploads to the library of one project may be under way on this node.
const MaxUploads = 4

// uploadCount counts the uploads under way on this node, by project. It bounds what they write before the store can
// count it: what the uploads to a library have received, together with what it holds, stays within its limit. The
// zero value has none.
type uploadCount struct {
	mu       sync.Mutex
	projects map[pleat.ProjectID]*uploading
}

// uploading is what is being uploaded to one library.
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
	all   *uploadCount
	owner pleat.ProjectID
	user  pleat.UserID
	named map[string]bool // as which files of the request are stored
}

// begin counts another upload to the library of the project of a reach. CodeLimited: MaxUploads are under way.
func (u *uploadCount) begin(by people.Reach) (*upload, error) {
	owner := by.Project
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.projects == nil {
		u.projects = map[pleat.ProjectID]*uploading{}
	}
	project := u.projects[owner]
	if project == nil {
		project = &uploading{replacing: map[libraryFile]int{}}
		u.projects[owner] = project
	}
	if project.requests == MaxUploads {
		return nil, pleat.Errorf(pleat.CodeLimited,
			"%d uploads to this library are under way, which is the most at a time; try again when one has ended",
			project.requests)
	}
	project.requests++
	return &upload{u, owner, by.User, map[string]bool{}}, nil
}

// end forgets the upload.
func (up *upload) end() {
	up.all.mu.Lock()
	defer up.all.mu.Unlock()
	project := up.all.projects[up.owner]
	if project.requests--; project.requests == 0 {
		delete(up.all.projects, up.owner)
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
func (up *upload) receive(r io.Reader, f libraryFile, use people.LibraryUse, replaced, most int64) *incoming {
	up.all.mu.Lock()
	defer up.all.mu.Unlock()
	project := up.all.projects[up.owner]
	if project.replacing[f]++; project.replacing[f] > 1 {
		replaced = 0
	}
	return &incoming{r: r, up: up, file: f, most: most, used: use.Bytes - replaced}
}

// Read reads the next part of the file.
func (in *incoming) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	in.up.all.mu.Lock()
	defer in.up.all.mu.Unlock()
	project := in.up.all.projects[in.up.owner]
	project.bytes += int64(n)
	in.received += int64(n)
	if in.most > 0 && in.used+project.bytes > in.most && n > 0 {
		return 0, people.ErrLibraryFull(in.most, in.used, project.bytes, "what you are uploading")
	}
	return n, err
}

// done forgets the file.
func (in *incoming) done() {
	in.up.all.mu.Lock()
	defer in.up.all.mu.Unlock()
	project := in.up.all.projects[in.up.owner]
	project.bytes -= in.received
	if project.replacing[in.file]--; project.replacing[in.file] == 0 {
		delete(project.replacing, in.file)
	}
}
