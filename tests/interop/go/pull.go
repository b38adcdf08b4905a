package main

import (
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func init() {
	cases["next"] = next
	cases["fetch"] = fetch
	cases["fetch bytes"] = fetchBytes
	cases["fetch no wait"] = fetchNoWait
	cases["messages"] = messages
	cases["consume"] = consume
	cases["consume bytes"] = consumeBytes
	cases["consume survives delete"] = consumerDeleted
	cases["acks"] = acks
}

func next(c *Case) {
	stream := c.Stream("GON", 2, "a")
	consumer := c.Consumer(stream, jetstream.ConsumerConfig{})
	for range 2 {
		message, err := consumer.Next(jetstream.FetchMaxWait(patient))
		c.Must(err)
		c.Note("%s", describe(c, message))
		c.Must(message.DoubleAck(c.ctx))
	}
	_, err := consumer.Next(jetstream.FetchMaxWait(brief))
	c.Refused("nothing", err)
}

// Drain a batch, acking, and note how it ended.
func drain(c *Case, batch jetstream.MessageBatch, err error) []uint64 {
	c.Must(err)
	seen := []uint64{}
	for message := range batch.Messages() {
		seen = append(seen, sequence(c, message))
		c.Must(message.DoubleAck(c.ctx))
	}
	if batch.Error() != nil {
		c.Note("ended with %s", batch.Error())
	}
	return seen
}

func fetch(c *Case) {
	stream := c.Stream("GOF", 20, "a", "b")
	consumer := c.Consumer(stream, jetstream.ConsumerConfig{MaxRequestBatch: 50})
	batch, err := consumer.Fetch(8, jetstream.FetchMaxWait(patient))
	c.Check(slices.Equal(drain(c, batch, err), upTo(8)), "not the first eight")
	batch, err = consumer.Fetch(30, jetstream.FetchMaxWait(time.Second), jetstream.FetchHeartbeat(200*time.Millisecond))
	c.Check(len(drain(c, batch, err)) == 12, "not the rest")
	batch, err = consumer.Fetch(51, jetstream.FetchMaxWait(brief))
	c.Note("too many: %v", drain(c, batch, err))
	info, err := consumer.Info(c.ctx)
	c.Must(err)
	c.Note("%s", describeInfo(info))
	batch, err = consumer.Fetch(1, jetstream.FetchMaxWait(patient))
	_, failed := c.js.Publish(c.ctx, "GOF.c", []byte("late"))
	c.Must(failed)
	c.Note("late: %v", drain(c, batch, err))
}

func fetchBytes(c *Case) {
	stream := c.Stream("GOB", 10, "a")
	consumer := c.Consumer(stream, jetstream.ConsumerConfig{})
	batch, err := consumer.FetchBytes(400, jetstream.FetchMaxWait(time.Second))
	some := drain(c, batch, err)
	c.Check(len(some) > 0 && len(some) < 10, "%d messages", len(some))
	c.Note("%v", some)
	batch, err = consumer.FetchBytes(10, jetstream.FetchMaxWait(time.Second))
	c.Note("too small: %v", drain(c, batch, err))
}

func fetchNoWait(c *Case) {
	stream := c.Stream("GOW", 3, "a")
	consumer := c.Consumer(stream, jetstream.ConsumerConfig{})
	batch, err := consumer.FetchNoWait(2)
	c.Note("%v", drain(c, batch, err))
	batch, err = consumer.FetchNoWait(5)
	c.Note("%v", drain(c, batch, err))
	batch, err = consumer.FetchNoWait(5)
	c.Check(len(drain(c, batch, err)) == 0, "messages out of nowhere")
}

func messages(c *Case) {
	stream := c.Stream("GOI", 100, "a", "b")
	consumer := c.Consumer(stream, jetstream.ConsumerConfig{})
	iterator, err := consumer.Messages(jetstream.PullMaxMessages(10), jetstream.PullThresholdMessages(4),
		jetstream.PullExpiry(2*time.Second), jetstream.PullHeartbeat(500*time.Millisecond))
	c.Must(err)
	for i := range 100 {
		message, err := iterator.Next(jetstream.NextMaxWait(patient))
		c.Must(err)
		c.Check(sequence(c, message) == uint64(i+1), "message %d came as number %d", sequence(c, message), i+1)
		c.Must(message.Ack())
	}
	_, err = iterator.Next(jetstream.NextMaxWait(brief))
	c.Refused("nothing", err)
	iterator.Drain()
	_, err = iterator.Next()
	c.Refused("closed", err)
}

// Consume until count messages came.
func consumeAll(c *Case, consumer jetstream.Consumer, count int, options ...jetstream.PullConsumeOpt) []uint64 {
	seen := []uint64{}
	done := make(chan struct{})
	context, err := consumer.Consume(func(message jetstream.Msg) {
		metadata, _ := message.Metadata()
		seen = append(seen, metadata.Sequence.Stream)
		_ = message.Ack()
		if len(seen) == count {
			close(done)
		}
	}, options...)
	c.Must(err)
	select {
	case <-done:
	case <-time.After(limit / 2):
	}
	context.Stop()
	<-context.Closed()
	return seen
}

func consume(c *Case) {
	stream := c.Stream("GOK", 200, "a", "b")
	consumer := c.Consumer(stream, jetstream.ConsumerConfig{})
	seen := consumeAll(c, consumer, 200, jetstream.PullMaxMessages(20), jetstream.PullThresholdMessages(10),
		jetstream.PullExpiry(2*time.Second), jetstream.PullHeartbeat(500*time.Millisecond))
	c.Check(slices.Equal(seen, upTo(200)), "came as %v", seen)
	for range 5 {
		_, err := c.js.Publish(c.ctx, "GOK.c", nil)
		c.Must(err)
	}
	rest := consumeAll(c, consumer, 5, jetstream.StopAfter(5))
	c.Check(slices.Equal(rest, []uint64{201, 202, 203, 204, 205}), "came as %v", rest)
}

func consumeBytes(c *Case) {
	stream := c.Stream("GOY", 200, "a")
	consumer := c.Consumer(stream, jetstream.ConsumerConfig{})
	seen := consumeAll(c, consumer, 200, jetstream.PullMaxBytes(2000), jetstream.PullThresholdBytes(1000),
		jetstream.PullExpiry(2*time.Second), jetstream.PullHeartbeat(500*time.Millisecond))
	c.Check(slices.Equal(seen, upTo(200)), "came as %v", seen)
}

func consumerDeleted(c *Case) {
	stream := c.Stream("GOX", 3, "a")
	consumer := c.Consumer(stream, jetstream.ConsumerConfig{})
	failures := make(chan error, 100)
	handler := jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { failures <- err })
	received := make(chan struct{}, 3)
	context, err := consumer.Consume(func(jetstream.Msg) { received <- struct{}{} }, handler)
	c.Must(err)
	for range 3 {
		<-received
	}
	c.Must(stream.DeleteConsumer(c.ctx, "c"))
	select {
	case err := <-failures:
		c.Check(errors.Is(err, jetstream.ErrConsumerDeleted), "told %s", err)
		c.Note("told %s", err)
	case <-time.After(patient):
		c.Check(false, "was not told that the consumer is gone")
	}
	<-context.Closed()
}

func acks(c *Case) {
	stream := c.Stream("GOQ", 1, "a")
	consumer := c.Consumer(stream, jetstream.ConsumerConfig{AckWait: 500 * time.Millisecond, MaxDeliver: 3})
	next := func() jetstream.Msg {
		message, err := consumer.Next(jetstream.FetchMaxWait(patient))
		c.Must(err)
		c.Note("%s", describe(c, message))
		return message
	}
	c.Must(next().Nak())
	c.Must(next().NakWithDelay(200 * time.Millisecond))
	third := next()
	c.Must(third.InProgress())
	c.Must(third.DoubleAck(c.ctx))
	_, err := c.js.Publish(c.ctx, "GOQ.a", []byte("2"))
	c.Must(err)
	c.Must(next().TermWithReason("enough"))
	_, err = c.js.Publish(c.ctx, "GOQ.a", []byte("3"))
	c.Must(err)
	for range 3 {
		next()
	}
	_, err = consumer.Next(jetstream.FetchMaxWait(800 * time.Millisecond))
	c.Refused("after three", err)
	info, err := consumer.Info(c.ctx)
	c.Must(err)
	c.Note("%s", describeInfo(info))
}
