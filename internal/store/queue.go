package store

import (
	"strings"

	"pleat"
)

// QueueTopic has news when a task is queued: a new one, one that is tried again, or one whose delay has ended. The
// queues of deliveries share one topic.
func QueueTopic(queue string) string {
	if strings.HasPrefix(queue, deliveryQueuePrefix) {
		return DeliveryTopic
	}
	return queueTopicPrefix + queue
}

const (
	queueTopicPrefix = "queue:"
	// AnyQueueTopic has news when the topic of any queue has.
	AnyQueueTopic = "queues"
)

// isQueueTopic reports whether QueueTopic made a topic.
func isQueueTopic(topic string) bool {
	return topic == DeliveryTopic || strings.HasPrefix(topic, queueTopicPrefix)
}

// notifyQueue wakes those who wait for tasks of a queue, or of any.
func (t *tx) notifyQueue(queue string) { t.notify(QueueTopic(queue), AnyQueueTopic) }

// WorkerTopic has news when a task that the worker holds is cancelled, which CancelledTasks reads, when the worker is
// to drain, which a heartbeat tells, and when the token with which it registered is revoked.
func WorkerTopic(w pleat.WorkerID) string { return workerTopicPrefix + string(w) }

const workerTopicPrefix = "worker:"

// A delivery to a custom endpoint is a task in the endpoint's own queue, so that endpoints never wait for each other.
// All follow-ups share one queue.
const (
	deliveryQueuePrefix = "deliver/"
	followUpQueue       = string(pleat.TaskFollow)

	// DeliveryTopic has news when a delivery is queued or an endpoint changes.
	DeliveryTopic = "deliver"
)
