package ops

import (
	"time"

	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// Plans are queries that must scan no table, with parameters.
func Plans() map[string][]any {
	out := map[string][]any{
		expiredWorkflows.byService: {1, "id"},
		expiredWorkflows.byProject: {1, "id", "project"},
		expiredJobs.byService:      {1, "id"},
		expiredJobs.byProject:      {1, "id", "project"},
		expiredBatches.byProject:   {1, "id", "project"},
		blobRefs:                   {"runs/x", 100},
	}
	for i, kind := range tombstones {
		out[kind.due] = []any{1}[:min(i, 1)]
	}
	return out
}

// PurgeStatements are the statements that delete the rows of a deleted job or workflow, which is their parameter.
func PurgeStatements() (out []string) {
	for _, kind := range tombstones {
		for _, step := range kind.steps() {
			out = append(out, kind.statement(step.text))
		}
	}
	return out
}

// ActivityStatements are the statements of Activity and of the operators' lists, with their parameters.
func ActivityStatements() map[string][]any {
	return map[string][]any{
		activityQueued:       nil,
		activityRunningTasks: nil,
		activityEnded:        {db.IDAt(time.Now().UnixMicro()), time.Now().UnixMicro()},
		countPeople:          nil,
		usersPage:            {people.AfterAllIDs, 100},
	}
}
