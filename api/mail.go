package api

// Notifications is which mails a person gets: of GET and PUT /v1/me/notifications, and of what confirms the address.
type Notifications struct {
	Available bool               `json:"available" doc:"Whether this service sends mails."`
	Mail      *string            `json:"mail" doc:"The address; null: none is set." example:"ada@example.org"`
	Confirmed bool               `json:"confirmed" doc:"Whether it was shown that the address is the person's; no mails go to one that is not."`
	LinkUntil *Time              `json:"linkUntil" doc:"Until when the link in the last mail is valid that asks to confirm the address; null: there is none."`
	Events    []string           `json:"events" doc:"Events that send mails: run_completed and run_failed, of runs that the person has created and that are no rows of a batch; batch_ended; endpoint_disabled, of projects that the person manages."`
	OffReason *string            `json:"offReason" doc:"Why the service sends no mails any more, until the settings are saved again; null: it does."`
	Recent    []NotificationMail `json:"recent" doc:"The last mails, newest first, at most 20."`
}

// NotificationMail is a mail to a person.
type NotificationMail struct {
	ID         string  `json:"id" format:"uuid"`
	Event      string  `json:"event" doc:"The event that it is about; confirm: it asks to confirm an address." enum:"MailEvent"`
	SourceKind *string `json:"sourceKind" doc:"Null: it is about an address or an endpoint." enum:"NotifiedSource"`
	SourceID   *string `json:"sourceId" format:"uuid"`
	Status     string  `json:"status" doc:"SENT: a mail server has accepted it; FAILED: one refused it, or no attempt is left; SKIPPED: it was not to be sent any more." enum:"MailStatus"`
	Attempts   int     `json:"attempts"`
	NextAt     *Time   `json:"nextAt" doc:"When it is tried next; null: it is not."`
	Reason     *string `json:"reason" doc:"Why it failed or was skipped, or the last attempt failed; null: it did not."`
	CreatedAt  Time    `json:"createdAt"`
}

// SetNotifications is the body of PUT /v1/me/notifications ([Client.SetNotifications]), which replaces the settings.
type SetNotifications struct {
	Mail   *string  `json:"mail" doc:"The address; null: none." maxLength:"254" example:"ada@example.org"`
	Events []string `json:"events" doc:"Events that shall send mails: run_completed, run_failed, batch_ended, endpoint_disabled."`
}

// ConfirmMail is the body of POST /v1/me/notifications/confirm.
type ConfirmMail struct {
	Token string `json:"token" doc:"The text behind the # of the link in the mail." maxLength:"200"`
}
