package mails

// Plans are queries that must scan no table, with parameters.
var Plans = map[string][]any{managersToMail: {"project", 1, "id", 1}}
