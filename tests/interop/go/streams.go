package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func init() {
	cases["core"] = core
	cases["stream management"] = streamManagement
	cases["publish"] = publish
	cases["publish async"] = publishAsync
	cases["stored messages"] = storedMessages
	cases["purge"] = purge
	cases["account"] = account
}

func core(c *Case) {
	subscription, err := c.nc.SubscribeSync("core.*")
	c.Must(err)
	message := nats.NewMsg("core.a")
	message.Header.Set("Color", "red")
	message.Data = []byte("x")
	c.Must(c.nc.PublishMsg(message))
	received, err := subscription.NextMsg(patient)
	c.Must(err)
	c.Note("%s %q %v", received.Subject, received.Data, received.Header)
	_, err = c.nc.Request("core-nobody", nil, patient)
	c.Refused("no responders", err)
	_, err = c.nc.Subscribe("core-echo", func(m *nats.Msg) { _ = m.Respond(m.Data) })
	c.Must(err)
	answer, err := c.nc.Request("core-echo", []byte("echo"), patient)
	c.Must(err)
	c.Note("%q", answer.Data)
	c.Note("%s %d %t", c.nc.ConnectedServerVersion(), c.nc.MaxPayload(), c.nc.HeadersSupported())
}

func streamManagement(c *Case) {
	config := jetstream.StreamConfig{
		Name: "GOS", Subjects: []string{"gos.>"}, Description: "first", MaxMsgs: 100, MaxAge: time.Hour,
		MaxMsgsPerSubject: 10, Discard: jetstream.DiscardNew, Duplicates: time.Minute, AllowDirect: true,
		AllowRollup: true, Compression: jetstream.S2Compression, Metadata: map[string]string{"owner": "tests"},
	}
	stream, err := c.js.CreateStream(c.ctx, config)
	c.Must(err)
	c.Note("%+v", steadyConfig(stream.CachedInfo().Config))
	_, err = c.js.CreateStream(c.ctx, jetstream.StreamConfig{Name: "GOS", Subjects: []string{"other"}})
	c.Refused("same name", err)
	_, err = c.js.CreateStream(c.ctx, jetstream.StreamConfig{Name: "GOS2", Subjects: []string{"gos.a"}})
	c.Refused("overlap", err)
	config.MaxMsgs = 50
	stream, err = c.js.UpdateStream(c.ctx, config)
	c.Must(err)
	c.Check(stream.CachedInfo().Config.MaxMsgs == 50, "the update did not take")
	config.Storage = jetstream.MemoryStorage
	_, err = c.js.UpdateStream(c.ctx, config)
	c.Refused("storage change", err)
	_, err = c.js.UpdateStream(c.ctx, jetstream.StreamConfig{Name: "GONE"})
	c.Refused("update of nothing", err)
	_, err = c.js.CreateOrUpdateStream(c.ctx, jetstream.StreamConfig{Name: "GOT", Subjects: []string{"got"}})
	c.Must(err)
	names := []string{}
	lister := c.js.StreamNames(c.ctx)
	for name := range lister.Name() {
		names = append(names, name)
	}
	c.Must(lister.Err())
	c.Check(slices.Contains(names, "GOS") && slices.Contains(names, "GOT"), "missing in %v", names)
	infos := c.js.ListStreams(c.ctx, jetstream.WithStreamListSubject("gos.>"))
	for info := range infos.Info() {
		c.Note("listed %s %+v", info.Config.Name, steadyConfig(info.Config))
	}
	c.Must(infos.Err())
	found, err := c.js.StreamNameBySubject(c.ctx, "gos.x")
	c.Must(err)
	c.Note("found %s", found)
	_, err = c.js.StreamNameBySubject(c.ctx, "nowhere")
	c.Refused("find", err)
	c.Must(c.js.DeleteStream(c.ctx, "GOS"))
	c.Must(c.js.DeleteStream(c.ctx, "GOT"))
	c.Refused("delete twice", c.js.DeleteStream(c.ctx, "GOS"))
	_, err = c.js.Stream(c.ctx, "GOS")
	c.Refused("stream", err)
}

// A config whose metadata prints in order.
func steadyConfig(config jetstream.StreamConfig) string {
	metadata := config.Metadata
	config.Metadata = nil
	return fmt.Sprintf("%+v %v", config, metadata)
}

func publish(c *Case) {
	stream := c.Stream("GOP", 0)
	ack, err := c.js.Publish(c.ctx, "GOP.a", []byte("1"), jetstream.WithMsgID("one"))
	c.Must(err)
	c.Note("%+v", *ack)
	ack, err = c.js.Publish(c.ctx, "GOP.a", []byte("1"), jetstream.WithMsgID("one"))
	c.Must(err)
	c.Check(ack.Duplicate, "no duplicate")
	message := nats.NewMsg("GOP.b")
	message.Header.Set("Color", "red")
	ack, err = c.js.PublishMsg(c.ctx, message, jetstream.WithExpectLastSequence(1), jetstream.WithExpectStream("GOP"))
	c.Must(err)
	c.Check(ack.Sequence == 2, "sequence %d", ack.Sequence)
	for name, expectation := range map[string]jetstream.PublishOpt{
		"last sequence": jetstream.WithExpectLastSequence(9), "last id": jetstream.WithExpectLastMsgID("zz"),
		"stream": jetstream.WithExpectStream("OTHER"), "subject": jetstream.WithExpectLastSequencePerSubject(7),
	} {
		_, err = c.js.Publish(c.ctx, "GOP.a", nil, expectation)
		c.Check(err != nil, "%s was not refused", name)
	}
	_, err = c.js.Publish(c.ctx, "GOP.a", nil, jetstream.WithExpectLastSequencePerSubject(7))
	c.Refused("wrong sequence", err)
	_, err = c.js.Publish(c.ctx, "GOP.a", nil, jetstream.WithMsgTTL(time.Minute))
	c.Refused("ttl", err)
	_, err = c.js.Publish(c.ctx, "gop-nowhere", nil, jetstream.WithRetryAttempts(0))
	c.Refused("nowhere", err)
	info, err := stream.Info(c.ctx, jetstream.WithSubjectFilter(">"))
	c.Must(err)
	c.Note("%d %v", info.State.Msgs, info.State.Subjects)
}

func publishAsync(c *Case) {
	stream := c.Stream("GOA", 0)
	futures := make([]jetstream.PubAckFuture, 0, 2000)
	for i := range 2000 {
		future, err := c.js.PublishAsync(fmt.Sprintf("GOA.%d", i%7), []byte("x"))
		c.Must(err)
		futures = append(futures, future)
	}
	select {
	case <-c.js.PublishAsyncComplete():
	case <-time.After(patient):
		c.Check(false, "%d acks are missing", c.js.PublishAsyncPending())
	}
	for i, future := range futures {
		select {
		case ack := <-future.Ok():
			c.Check(ack.Sequence == uint64(i+1), "message %d has sequence %d", i+1, ack.Sequence)
		case err := <-future.Err():
			c.Must(err)
		}
	}
	lost, err := c.js.PublishAsync("goa-nowhere", nil, jetstream.WithRetryAttempts(0))
	c.Must(err)
	select {
	case err := <-lost.Err():
		c.Refused("nowhere", err)
	case <-time.After(patient):
		c.Check(false, "no answer for a subject without a stream")
	}
	info, err := stream.Info(c.ctx)
	c.Must(err)
	c.Note("%d messages", info.State.Msgs)
}

func storedMessages(c *Case) {
	stream := c.Stream("GOM", 6, "a", "b")
	for _, sequence := range []uint64{1, 6} {
		message, err := stream.GetMsg(c.ctx, sequence)
		c.Must(err)
		c.Note("%d %s %q %v", message.Sequence, message.Subject, message.Data, message.Header)
	}
	next, err := stream.GetMsg(c.ctx, 2, jetstream.WithGetMsgSubject("GOM.a"))
	c.Must(err)
	c.Check(next.Sequence == 3, "next is %d", next.Sequence)
	last, err := stream.GetLastMsgForSubject(c.ctx, "GOM.b")
	c.Must(err)
	c.Check(last.Sequence == 6, "last is %d", last.Sequence)
	_, err = stream.GetMsg(c.ctx, 99)
	c.Refused("get", err)
	_, err = stream.GetLastMsgForSubject(c.ctx, "GOM.z")
	c.Refused("get last", err)
	c.Must(stream.DeleteMsg(c.ctx, 2))
	c.Must(stream.SecureDeleteMsg(c.ctx, 3))
	c.Refused("delete twice", stream.DeleteMsg(c.ctx, 2))
	info, err := stream.Info(c.ctx, jetstream.WithDeletedDetails(true))
	c.Must(err)
	c.Note("%d %v %d %d %d", info.State.Msgs, info.State.Deleted, info.State.FirstSeq, info.State.LastSeq, info.State.Bytes)
}

func purge(c *Case) {
	stream := c.Stream("GOU", 10, "a", "b")
	left := func() string {
		info, err := stream.Info(c.ctx)
		c.Must(err)
		return fmt.Sprintf("%d from %d to %d", info.State.Msgs, info.State.FirstSeq, info.State.LastSeq)
	}
	c.Must(stream.Purge(c.ctx, jetstream.WithPurgeSubject("GOU.a"), jetstream.WithPurgeKeep(2)))
	c.Note("kept two of a: %s", left())
	c.Must(stream.Purge(c.ctx, jetstream.WithPurgeSequence(5)))
	c.Note("up to 5: %s", left())
	c.Must(stream.Purge(c.ctx, jetstream.WithPurgeKeep(1)))
	c.Note("kept one: %s", left())
	c.Must(stream.Purge(c.ctx))
	c.Check(left() == "0 from 11 to 10", "%s", left())
}

func account(c *Case) {
	info, err := c.js.AccountInfo(c.ctx)
	c.Must(err)
	c.Note("%+v %v %q", info.Limits, info.Tiers, info.Domain)
}
