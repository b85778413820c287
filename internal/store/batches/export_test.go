package batches

// Plans are queries that must scan no table, with parameters.
var Plans = map[string][]any{
	batchesToAdvance(100): {1, "id"},
	jobsToStop:            {"id"},
	jobsToRetry:           {"id", 1},
}
