package tasks

// Plans are queries that must scan no table, with parameters.
var Plans = map[string][]any{unqueuedTasks(10_000): nil}
