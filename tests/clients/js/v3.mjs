// The third generation: a core, a transport and packages for each feature.
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { startFastIngest } from "@nats-io/jetstream/internal";
import { Kvm } from "@nats-io/kv";
import { Objm } from "@nats-io/obj";
import { Svcm } from "@nats-io/services";
import { connect, createInbox, headers, nanos } from "@nats-io/transport-node";

export * from "./common.mjs";
export { connect, createInbox, headers, jetstream, jetstreamManager, nanos, startFastIngest };
export const services = (connection) => new Svcm(connection);

// Buckets and object stores under one face for both generations.
export const buckets = (connection) => {
  const manager = new Kvm(connection);
  return {
    create: (name, options) => manager.create(name, options),
    open: (name) => manager.open(name),
    list: async () => manager.list(),
  };
};
export const stores = (connection) => {
  const manager = new Objm(connection);
  return { create: (name, options) => manager.create(name, options), list: async () => manager.list() };
};
