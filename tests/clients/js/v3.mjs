// The third generation: a core, a transport and packages for each feature.
import { Svcm } from "@nats-io/services";
import { connect, createInbox, headers } from "@nats-io/transport-node";

export * from "./common.mjs";
export { connect, createInbox, headers };
export const services = (connection) => new Svcm(connection);
