package workers

// Plans are queries that must scan no table, with parameters.
var Plans = map[string][]any{tasksHeld: nil}
