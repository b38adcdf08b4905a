package main

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func init() {
	cases["consumer management"] = consumerManagement
	cases["ordered consumer"] = ordered
	cases["ordered consumer recovers"] = orderedRecovers
	cases["push consumer"] = push
	cases["overflow"] = overflow
	cases["pinned"] = pinned
}

func sequence(c *Case, message jetstream.Msg) uint64 {
	metadata, err := message.Metadata()
	c.Must(err)
	return metadata.Sequence.Stream
}

func describe(c *Case, message jetstream.Msg) string {
	m, err := message.Metadata()
	c.Must(err)
	return fmt.Sprintf("%s %q %s/%s %d/%d delivered %d pending %d", message.Subject(), message.Data(), m.Stream, m.Consumer,
		m.Sequence.Stream, m.Sequence.Consumer, m.NumDelivered, m.NumPending)
}

func describeInfo(info *jetstream.ConsumerInfo) string {
	metadata := info.Config.Metadata
	info.Config.Metadata = nil
	return fmt.Sprintf("%+v %v delivered %d/%d floor %d/%d pending %d ack pending %d redelivered %d paused %t bound %t",
		info.Config, metadata, info.Delivered.Stream, info.Delivered.Consumer, info.AckFloor.Stream, info.AckFloor.Consumer,
		info.NumPending, info.NumAckPending, info.NumRedelivered, info.Paused, info.PushBound)
}

func upTo(count int) []uint64 {
	numbers := make([]uint64, count)
	for i := range numbers {
		numbers[i] = uint64(i + 1)
	}
	return numbers
}

func consumerManagement(c *Case) {
	stream := c.Stream("GOC", 10, "a", "b")
	consumer, err := stream.CreateConsumer(c.ctx, jetstream.ConsumerConfig{
		Durable: "full", Description: "all", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 5 * time.Second, MaxDeliver: 4,
		BackOff: []time.Duration{time.Second, 2 * time.Second}, FilterSubjects: []string{"GOC.a", "GOC.b"}, MaxAckPending: 7,
		MaxWaiting: 9, MaxRequestBatch: 5, MaxRequestExpires: 10 * time.Second, MaxRequestMaxBytes: 4096, HeadersOnly: true,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 3, InactiveThreshold: time.Hour, MemoryStorage: true,
		SampleFrequency: "50", Metadata: map[string]string{"owner": "tests"},
	})
	c.Must(err)
	c.Note("%s", describeInfo(consumer.CachedInfo()))
	ephemeral, err := stream.CreateConsumer(c.ctx, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	c.Must(err)
	c.Check(ephemeral.CachedInfo().Name != "", "no name")
	_, err = stream.CreateConsumer(c.ctx, jetstream.ConsumerConfig{Durable: "full"})
	c.Refused("create with another config", err)
	_, err = stream.UpdateConsumer(c.ctx, jetstream.ConsumerConfig{Durable: "nobody"})
	c.Refused("update of nobody", err)
	plain := jetstream.ConsumerConfig{Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy}
	_, err = stream.CreateOrUpdateConsumer(c.ctx, plain)
	c.Must(err)
	plain.FilterSubject = "GOC.a"
	updated, err := stream.UpdateConsumer(c.ctx, plain)
	c.Must(err)
	c.Note("%s", describeInfo(updated.CachedInfo()))
	names := []string{}
	lister := stream.ConsumerNames(c.ctx)
	for name := range lister.Name() {
		names = append(names, name)
	}
	c.Must(lister.Err())
	infos := 0
	for range stream.ListConsumers(c.ctx).Info() {
		infos++
	}
	c.Check(len(names) == 3 && infos == 3, "%v, %d infos", names, infos)
	paused, err := stream.PauseConsumer(c.ctx, "plain", time.Now().Add(time.Hour))
	c.Must(err)
	resumed, err := stream.ResumeConsumer(c.ctx, "plain")
	c.Must(err)
	c.Note("paused %t, then %t", paused.Paused, resumed.Paused)
	c.Refused("unpin", stream.UnpinConsumer(c.ctx, "plain", "g"))
	reset, err := stream.ResetConsumerToSequence(c.ctx, "plain", 4)
	c.Must(err)
	c.Note("reset to %d", reset.ResetSeq)
	_, err = stream.Consumer(c.ctx, "nobody")
	c.Refused("consumer", err)
	c.Must(stream.DeleteConsumer(c.ctx, "plain"))
	c.Refused("delete twice", stream.DeleteConsumer(c.ctx, "plain"))
}

func ordered(c *Case) {
	stream := c.Stream("GOO", 60, "a", "b", "c")
	all, err := stream.OrderedConsumer(c.ctx, jetstream.OrderedConsumerConfig{})
	c.Must(err)
	seen := consumeAll(c, all, 60, jetstream.PullMaxMessages(7))
	c.Check(slices.Equal(seen, upTo(60)), "came as %v", seen)
	some, err := stream.OrderedConsumer(c.ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"GOO.a", "GOO.b"}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 55,
	})
	c.Must(err)
	batch, err := some.Fetch(4, jetstream.FetchMaxWait(patient))
	c.Must(err)
	for message := range batch.Messages() {
		c.Note("%d %s", sequence(c, message), message.Subject())
	}
	last, err := stream.OrderedConsumer(c.ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubjects: []string{"GOO.*"}, HeadersOnly: true,
	})
	c.Must(err)
	iterator, err := last.Messages()
	c.Must(err)
	for range 3 {
		message, err := iterator.Next(jetstream.NextMaxWait(patient))
		c.Must(err)
		c.Note("%d %q %v", sequence(c, message), message.Data(), message.Headers())
	}
	iterator.Stop()
}

func orderedRecovers(c *Case) {
	stream := c.Stream("GOR", 40, "a")
	consumer, err := stream.OrderedConsumer(c.ctx, jetstream.OrderedConsumerConfig{})
	c.Must(err)
	iterator, err := consumer.Messages(jetstream.PullMaxMessages(5), jetstream.PullExpiry(2*time.Second),
		jetstream.PullHeartbeat(500*time.Millisecond))
	c.Must(err)
	for i := range 40 {
		message, err := iterator.Next(jetstream.NextMaxWait(patient))
		c.Must(err)
		c.Check(sequence(c, message) == uint64(i+1), "message %d came as number %d", sequence(c, message), i+1)
		if i == 10 {
			metadata, err := message.Metadata()
			c.Must(err)
			c.Must(stream.DeleteConsumer(c.ctx, metadata.Consumer))
		}
	}
	iterator.Stop()
}

func push(c *Case) {
	stream := c.Stream("GOH", 30, "a", "b")
	consumer, err := stream.CreatePushConsumer(c.ctx, jetstream.ConsumerConfig{
		Durable: "p", DeliverSubject: "goh-to", AckPolicy: jetstream.AckExplicitPolicy, FlowControl: true,
		IdleHeartbeat: 500 * time.Millisecond, FilterSubject: "GOH.a",
	})
	c.Must(err)
	c.Note("%s", describeInfo(consumer.CachedInfo()))
	received := make(chan string, 30)
	context, err := consumer.Consume(func(message jetstream.Msg) {
		_ = message.DoubleAck(c.ctx)
		metadata, _ := message.Metadata()
		received <- fmt.Sprintf("%s %d/%d", message.Subject(), metadata.Sequence.Stream, metadata.Sequence.Consumer)
	})
	c.Must(err)
	for range 15 {
		select {
		case told := <-received:
			c.Note("%s", told)
		case <-time.After(patient):
			c.Check(false, "no message")
		}
	}
	info, err := consumer.Info(c.ctx)
	c.Must(err)
	c.Note("%s", describeInfo(info))
	context.Stop()
	_, err = stream.Consumer(c.ctx, "p")
	c.Refused("pull on push", err)
}

func overflow(c *Case) {
	stream := c.Stream("GOV", 10, "a")
	consumer := c.Consumer(stream, jetstream.ConsumerConfig{
		PriorityPolicy: jetstream.PriorityPolicyOverflow, PriorityGroups: []string{"g"},
	})
	group := jetstream.FetchPriorityGroup("g")
	batch, err := consumer.Fetch(2, group, jetstream.FetchMinPending(100), jetstream.FetchMaxWait(brief))
	c.Note("below: %v", drain(c, batch, err))
	batch, err = consumer.Fetch(2, group, jetstream.FetchMinPending(5), jetstream.FetchMaxWait(patient))
	c.Note("above: %v", drain(c, batch, err))
	batch, err = consumer.Fetch(2, jetstream.FetchMaxWait(brief))
	c.Note("no group: %v", drain(c, batch, err))
}

func pinned(c *Case) {
	stream := c.Stream("GOZ", 0)
	config := jetstream.ConsumerConfig{
		PriorityPolicy: jetstream.PriorityPolicyPinned, PriorityGroups: []string{"g"}, PinnedTTL: time.Minute,
	}
	consumer := c.Consumer(stream, config)
	var mutex sync.Mutex
	counts := map[string]int{}
	received := make(chan string, 100)
	listen := func(name string, from jetstream.Consumer) jetstream.ConsumeContext {
		context, err := from.Consume(func(message jetstream.Msg) {
			mutex.Lock()
			counts[name]++
			mutex.Unlock()
			_ = message.DoubleAck(context.Background())
			received <- name
		}, jetstream.PullPriorityGroup("g"), jetstream.PullMaxMessages(5), jetstream.PullExpiry(2*time.Second))
		c.Must(err)
		return context
	}
	first := listen("first", consumer)
	publish := func(count int) {
		for range count {
			_, err := c.js.Publish(c.ctx, "GOZ.a", nil)
			c.Must(err)
			select {
			case <-received:
			case <-time.After(patient):
				c.Check(false, "no message")
			}
		}
	}
	publish(3)
	other, err := stream.Consumer(c.ctx, "c")
	c.Must(err)
	second := listen("second", other)
	c.Must(c.nc.Flush())
	publish(10)
	c.Check(counts["first"] == 13, "the pinned client got %v", counts)
	first.Stop()
	<-first.Closed()
	c.Must(stream.UnpinConsumer(c.ctx, "c", "g"))
	publish(5)
	c.Check(counts["second"] == 5, "after unpinning %v", counts)
	second.Stop()
	names := []string{}
	for name := range counts {
		names = append(names, name)
	}
	sort.Strings(names)
	c.Note("%v", names)
}
