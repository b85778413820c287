package remote

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"pleat"
	"pleat/internal/words"
)

// chatResponse has the fields of a chat completion that the engine uses. Usage counts tokens; it may be absent.
type chatResponse struct {
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Content chatText `json:"content"`
		} `json:"message"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	} `json:"usage"`
}

// chatText is the content of a message: a text, a list of parts with texts, or null.
type chatText string

// UnmarshalJSON implements json.Unmarshaler. It skips parts that are not text, such as images.
func (c *chatText) UnmarshalJSON(raw []byte) error {
	var parts []struct {
		Text string `json:"text"`
	}
	if raw[0] != '[' {
		return json.Unmarshal(raw, (*string)(c))
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*c += chatText(p.Text)
	}
	return nil
}

// readChat reads the response to a call. A failure says why there is no answer: the model is still being loaded, which
// some endpoints say with status 200, or it has written thoughts alone, or nothing.
func readChat(raw []byte, reason string) (chatResponse, *pleat.Failure) {
	var out chatResponse
	invalid := func(message string) (chatResponse, *pleat.Failure) {
		return out, pleat.Failed(pleat.FailOutputInvalid, message)
	}
	if len(raw) > maxChatResponse || json.Unmarshal(raw, &out) != nil {
		return invalid("the chat endpoint sent an answer that is not a chat completion")
	}
	switch {
	case len(out.Choices) == 0 && reason != "":
		return out, &pleat.Failure{
			Kind: pleat.FailLoad, Message: "the chat endpoint has no answer: " + reason, Retry: true,
		}
	case out.answer() != "":
		return out, nil
	case out.finishReason() == "content_filter":
		return invalid("the content filter of the chat endpoint withheld the answer")
	case out.finishReason() == "length":
		return invalid("the language model reached its bound of tokens before it gave an answer; " +
			"the operator can raise chat-tokens")
	}
	return invalid("the language model gave an empty answer")
}

// finishReason returns why the answer ends: stop, length or content_filter; empty if the endpoint does not say.
func (r *chatResponse) finishReason() string {
	if len(r.Choices) == 0 {
		return ""
	}
	return r.Choices[0].Finish
}

// answer returns the answer without the thoughts before it, as valid text without control characters, at most
// maxChatAnswer bytes long. It says where the model was cut off by its bound of tokens.
func (r *chatResponse) answer() string {
	if len(r.Choices) == 0 {
		return ""
	}
	s := strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(string(r.Choices[0].Message.Content), "\ufffd"))
	if s = withoutThoughts(s); len(s) > maxChatAnswer {
		cut := maxChatAnswer
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	if s != "" && r.finishReason() == "length" {
		s += "\n\n(The answer ends here because the model reached its bound of tokens.)"
	}
	return s
}

// thoughts are the tags in which models write what they consider before they answer.
var thoughtsBegin, thoughtsEnd = regexp.MustCompile(`<(think|thinking|thought|reasoning)>`),
	regexp.MustCompile(`</(think|thinking|thought|reasoning)>`)

// withoutThoughts returns the text after the thoughts of a model, or the whole text if there are none. The first tag
// may be missing, since some models have it in their prompt. The last tag is missing if the model was cut off.
func withoutThoughts(s string) string {
	if ends := thoughtsEnd.FindAllStringIndex(s, -1); len(ends) > 0 {
		s = s[ends[len(ends)-1][1]:]
	}
	if begin := thoughtsBegin.FindStringIndex(s); begin != nil {
		s = s[:begin[0]]
	}
	return strings.TrimSpace(s)
}

// reasonOf returns the reason that an endpoint gives in the body of a response, without the key; empty: there is none.
func (c Chat) reasonOf(raw []byte) string {
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(raw, &body) != nil {
		return ""
	}
	reason := body.Message
	for _, part := range []json.RawMessage{body.Detail, body.Error} { // the last one that is there counts
		var inner struct {
			Message string `json:"message"`
		}
		var text string
		switch {
		case json.Unmarshal(part, &text) == nil && text != "":
			reason = text
		case json.Unmarshal(part, &inner) == nil && inner.Message != "":
			reason = inner.Message
		}
	}
	if c.Key != "" {
		reason = strings.ReplaceAll(reason, c.Key, "…")
	}
	return words.Shorten(strings.Join(strings.FieldsFunc(reason, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " "), 300)
}
