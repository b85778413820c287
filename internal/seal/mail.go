package seal

import "pleat"

// mailUse is what the signature in the token of a mail is for.
const mailUse = "mail.confirm"

// MailToken returns the token that confirms an address, by the mail that asks for it. It derives from the master key,
// so that neither the database nor a copy of it has the token. Its use and its end are the store's to check.
func (r *Ring) MailToken(id pleat.MailID) string {
	return string(id) + "." + r.Sign(mailUse, string(id))
}

// OpenMailToken returns the mail of a token; false: MailToken did not make it.
func (r *Ring) OpenMailToken(token string) (pleat.MailID, bool) {
	const uuid = 36
	if len(token) <= uuid || token[uuid] != '.' || !pleat.IsUUID(token[:uuid]) {
		return "", false
	}
	return pleat.MailID(token[:uuid]), r.Verify(mailUse, token[uuid+1:], token[:uuid])
}
