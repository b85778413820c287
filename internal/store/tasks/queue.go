package tasks

import (
	"strings"

	"pleat"
	"pleat/internal/store/db"
)

// QueueTopic has news when a task is queued: a new one, one that is tried again, or one whose delay has ended. The
// queues of deliveries share one topic.
func QueueTopic(queue string) string {
	if strings.HasPrefix(queue, DeliveryQueuePrefix) {
		return DeliveryTopic
	}
	return QueueTopicPrefix + queue
}

const (
	QueueTopicPrefix = "queue:"
	// AnyQueueTopic has news when the topic of any queue has.
	AnyQueueTopic = "queues"
)

// IsQueueTopic reports whether [QueueTopic] made a topic.
func IsQueueTopic(topic string) bool {
	return topic == DeliveryTopic || strings.HasPrefix(topic, QueueTopicPrefix)
}

// NotifyQueue wakes those who wait for tasks of a queue, or of any.
func NotifyQueue(t *db.Tx, queue string) { t.Notify(QueueTopic(queue), AnyQueueTopic) }

// NotifyDeliveries wakes those who wait for deliveries, of whatever endpoint.
func NotifyDeliveries(t *db.Tx) { t.Notify(DeliveryTopic, AnyQueueTopic) }

// WorkerTopic has news when a task that the worker holds is cancelled, which CancelledTasks reads, when the worker is
// to drain, which a heartbeat tells, and when the token with which it registered is revoked.
func WorkerTopic(w pleat.WorkerID) string { return WorkerTopicPrefix + string(w) }

const WorkerTopicPrefix = "worker:"

// A delivery to a custom endpoint is a task in the endpoint's own queue, so that endpoints never wait for each other.
// All follow-ups share one queue.
const (
	DeliveryQueuePrefix = "deliver/"
	FollowUpQueue       = string(pleat.TaskFollow)

	// DeliveryTopic has news when a delivery is queued or an endpoint changes.
	DeliveryTopic = "deliver"
)
