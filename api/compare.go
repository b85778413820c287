package api

// CreateComparison is the body of POST /v1/compare ([Client.CreateComparison]).
type CreateComparison struct {
	Of        []string `json:"of" doc:"The structures to compare: job:ID, job:ID/SAMPLE, library:ID, library:ID/FILE or pdb:ID. SAMPLE is the number of a sample, or the name of a structure among the files of the job." minItems:"2" maxItems:"20" example:"[\"job:019a8f6e-4c1e-7d9e-8a54-1c0a3f2b9d10\",\"pdb:1UBQ\"]"`
	Reference *int     `json:"reference,omitempty" doc:"Which of them is the reference, counted from 1; absent: none." minimum:"1" maximum:"20"`
	Name      string   `json:"name,omitempty" doc:"Name of the workflow; absent: the service makes one." maxLength:"255"`
	IsPublic  bool     `json:"isPublic,omitempty" doc:"Whether anyone may read the comparison, without the ids and names of what it compares; absent: false."`
	ProjectID string   `json:"projectId,omitempty" doc:"The project that owns it; absent: that of the key, else your own." format:"uuid"`
}

// Comparison compares structures: the response of GET /v1/compare, and the result_raw_json of a workflow compare_v1.
// Structures are named by their position, counted from 1. Lengths are in Å. A value that cannot be computed is null,
// and reasons says why, under the name of the value.
type Comparison struct {
	Structures   []ComparedStructure `json:"structures"`
	Reference    *int                `json:"reference" doc:"The structure that is the reference; null: none."`
	SuperposedOn int                 `json:"superposedOn" doc:"The structure onto which the others are superposed: the reference, else the first."`
	Pairs        []ComparedPair      `json:"pairs" doc:"Every two structures. The reference, else the one with the lower position, is a."`
	Details      []ComparisonDetail  `json:"details" doc:"By residue: superposedOn, which is a, and each other structure."`
}

// ComparedStructure is one of the structures of a comparison, and how it is moved.
type ComparedStructure struct {
	Of            string          `json:"of" doc:"As it was given. To others than the owner of a workflow: its kind alone."`
	Kind          string          `json:"kind" enum:"ComparedKind"`
	Name          string          `json:"name" doc:"Name of the job, the file or the entry."`
	File          *string         `json:"file" doc:"The file that was read, among the artifacts of the job's run or the files of the library item; null: it is not stored."`
	JobID         *string         `json:"jobId" format:"uuid"`
	JobRunID      *string         `json:"jobRunId" format:"uuid"`
	LibraryItemID *string         `json:"libraryItemId" format:"uuid"`
	ModelName     *string         `json:"modelName" doc:"The model that predicted it; null: not known."`
	Residues      int             `json:"residues" doc:"Residues of polymers, with coordinates."`
	Chains        []ComparedChain `json:"chains" doc:"Its polymers. A second one that the file calls A is A-2."`
	Transform     *Transform      `json:"transform" doc:"Moves the coordinates of the file onto superposedOn; null: it cannot be superposed."`
}

// ComparedChain is a polymer of a compared structure.
type ComparedChain struct {
	Chain    string `json:"chain"`
	Kind     string `json:"kind" enum:"PolymerType"`
	Residues int    `json:"residues"`
}

// Transform moves a point x, in Å: rotation·x + translation.
type Transform struct {
	Rotation    [3][3]float64 `json:"rotation" doc:"By rows."`
	Translation [3]float64    `json:"translation"`
}

// ComparedPair is the scores of two structures a and b.
type ComparedPair struct {
	A                int               `json:"a"`
	B                int               `json:"b"`
	Chains           []MatchedChains   `json:"chains" doc:"Which chain of a corresponds to which of b."`
	AlignedResidues  int               `json:"alignedResidues" doc:"Residues of a that have a counterpart in b; both have CA, or C1' in a nucleic acid."`
	SequenceIdentity *float64          `json:"sequenceIdentity" doc:"The part of the aligned residues that are the same component, 0 to 1: SEP is not SER."`
	RMSD             *float64          `json:"rmsd" doc:"RMSD of CA (C1' in nucleic acids) of the aligned residues after superposition, in Å."`
	TMScoreA         *float64          `json:"tmScoreA" doc:"TM-score normalised by the residues of a, 0 to 1."`
	TMScoreB         *float64          `json:"tmScoreB" doc:"TM-score normalised by the residues of b, 0 to 1."`
	LDDTCA           *float64          `json:"lddtCA" doc:"lDDT of b with a as the reference, of CA (C1') alone, 0 to 1."`
	LDDTAllAtom      *float64          `json:"lddtAllAtom" doc:"The same of all heavy atoms."`
	PLDDTChange      *float64          `json:"plddtChange" doc:"Mean change of pLDDT of the aligned residues, b minus a."`
	DockQ            *float64          `json:"dockq" doc:"Mean DockQ of the interfaces, 0 to 1; null unless a is the reference."`
	Interfaces       []InterfaceScore  `json:"interfaces" doc:"Interfaces of the reference, if that is a."`
	Reasons          map[string]string `json:"reasons" doc:"Why a value is null, by its name."`
}

// MatchedChains is a chain of a and the chain of b that corresponds to it.
type MatchedChains struct {
	A                string  `json:"a"`
	B                string  `json:"b"`
	AlignedResidues  int     `json:"alignedResidues"`
	SequenceIdentity float64 `json:"sequenceIdentity" doc:"0 to 1."`
}

// InterfaceScore is the DockQ of an interface of two chains of the reference.
type InterfaceScore struct {
	Chains [2]string `json:"chains" doc:"Chains of the reference."`
	Model  []string  `json:"model" doc:"The chains of b that correspond to them; empty: not both have one."`
	DockQ  *float64  `json:"dockq" doc:"0 to 1."`
	FNat   *float64  `json:"fnat" doc:"The part of the contacts of the reference that b has, 0 to 1."`
	FNon   *float64  `json:"fnonnat" doc:"The part of the contacts of b that the reference does not have, 0 to 1."`
	IRMSD  *float64  `json:"iRMSD" doc:"RMSD of the backbone of the interface after its superposition, in Å."`
	LRMSD  *float64  `json:"LRMSD" doc:"RMSD of the backbone of the smaller chain after superposition of the larger one, in Å."`
	Reason string    `json:"reason,omitempty" doc:"Why the values are null."`
}

// ComparisonDetail compares two structures a and b by residue.
type ComparisonDetail struct {
	A        int               `json:"a"`
	B        int               `json:"b"`
	Segments []ComparedSegment `json:"segments" doc:"One of each two chains that correspond."`
	Contacts *ContactChanges   `json:"contacts" doc:"null: they cannot be computed; reasons of the pair says why, under contacts."`
}

// ComparedSegment is the aligned residues of two chains. Its lists have one entry for each.
type ComparedSegment struct {
	ChainA      string     `json:"chainA"`
	ChainB      string     `json:"chainB"`
	ResiduesA   []int      `json:"residuesA" doc:"Their numbers in a, without insertion codes."`
	ResiduesB   []int      `json:"residuesB"`
	Distance    []float64  `json:"distance" doc:"Between CA (C1') after superposition, in Å."`
	LDDT        []float64  `json:"lddt" doc:"lDDT of CA (C1') with a as the reference, 0 to 1."`
	PLDDTChange []*float64 `json:"plddtChange" doc:"b minus a; empty: not both have pLDDT."`
}

// ContactChanges compares contacts: two residues whose heavy atoms are at most 4.5 Å apart, in one chain at least 4
// residues apart, and that are aligned in both structures.
type ContactChanges struct {
	Kept    int             `json:"kept" doc:"In both structures."`
	Gained  int             `json:"gained" doc:"In b alone."`
	Lost    int             `json:"lost" doc:"In a alone."`
	Changes []ContactChange `json:"changes" doc:"At most 500, and fewer where many structures are compared; those with the largest change of distance first."`
}

// ContactChange is a contact that is gained or lost.
type ContactChange struct {
	Change    string      `json:"change" enum:"ContactChangeType"`
	A         [2]Position `json:"a" doc:"The two residues in a."`
	B         [2]Position `json:"b" doc:"Their counterparts in b."`
	DistanceA float64     `json:"distanceA" doc:"Between their closest heavy atoms in a, in Å."`
	DistanceB float64     `json:"distanceB" doc:"The same in b."`
}

// Position is a residue as PDB files name it.
type Position struct {
	Chain   string `json:"chain"`
	Residue int    `json:"residue" doc:"Its number, without the insertion code."`
	Name    string `json:"name" doc:"Its component code." example:"LYS"`
}
