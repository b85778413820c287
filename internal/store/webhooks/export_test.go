package webhooks

// Plans are queries that must scan no table, with parameters.
var Plans = map[string][]any{
	subscriptionsSQL("$1", "$2", "$3"): {"job", "run", "project"},
	namedEndpointsQuery:                {"project"},
	deletedWithDeliveries:              nil,
	forgottenEndpoint:                  {1},
	waitingFor:                         {"id"},
}
