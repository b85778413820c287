package db

import (
	"maps"
	"slices"
	"sync"
)

// hub wakes goroutines of this process that wait for news on a topic. A token holds no content: a token that comes for
// nothing is harmless, and one that is lost, as on a broken connection, is made up for by polling.
type hub struct {
	mu     sync.Mutex
	topics map[string]map[chan struct{}]bool
}

// Subscribe returns a channel that holds a token after news on the topic, and a function that ends the subscription.
// Tokens coalesce, and news comes after its commit: subscribe, read the database, wait for a token, read again. Topics
// are texts that the packages above choose. News from other processes arrives only on PostgreSQL.
func (s *DB) Subscribe(topic string) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	s.SubscribeTo(topic, ch)
	return ch, func() { s.hub.remove(topic, ch) }
}

// SubscribeTo is [DB.Subscribe] for one channel with several topics. The channel needs a buffer of one. Unsubscribe
// ends it.
func (s *DB) SubscribeTo(topic string, ch chan struct{}) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.topics[topic] == nil {
		s.hub.topics[topic] = map[chan struct{}]bool{}
	}
	s.hub.topics[topic][ch] = true
}

// Subscribed reports whether somebody of this process waits for news on a topic.
func (s *DB) Subscribed(topic string) bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return len(s.hub.topics[topic]) > 0
}

// Subscriptions returns the topics that somebody of this process waits for, in order.
func (s *DB) Subscriptions() []string {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return slices.Sorted(maps.Keys(s.hub.topics))
}

// Unsubscribe ends what [DB.SubscribeTo] began.
func (s *DB) Unsubscribe(topic string, ch chan struct{}) { s.hub.remove(topic, ch) }

// remove ends a subscription. The channel stays open, since a publisher may be about to use it.
func (h *hub) remove(topic string, ch chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.topics[topic], ch)
	if len(h.topics[topic]) == 0 {
		delete(h.topics, topic)
	}
}

// publish puts a token into every channel of the topics that has none.
func (h *hub) publish(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		h.wake(t)
	}
}

// wake puts a token into every channel of a topic that has none. The caller holds mu.
func (h *hub) wake(topic string) {
	for ch := range h.topics[topic] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// publishAll is publish for every topic: after a gap in the connection that listens, any of them may have news.
func (h *hub) publishAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for topic := range h.topics {
		h.wake(topic)
	}
}
