// What every plugin serves, whatever it is: whether it is healthy, how further connections are made, how it is stopped,
// what it prints, and whether it serves several users at once.

import {
  bytesWithin,
  flag,
  int32,
  message,
  type MessageOf,
  part,
  text,
  uint32,
} from "@holdfast/shared/grpc/message";
import { method } from "@holdfast/shared/grpc/method";
import { nothing } from "./known-types.ts";

export const health = {
  check: method(
    "unary",
    "/grpc.health.v1.Health/Check",
    message({ service: text(1) }),
    message({ status: int32(1) }),
  ),
} as const;

/** What is asked for its health. */
export const HEALTH_SERVICE = "plugin";
export const SERVING = 1;

const connInfo = message({
  serviceId: uint32(1),
  network: text(2),
  address: text(3),
  knock: part(4, message({ knock: flag(1), ack: flag(2), error: text(3) })),
});

/** Where a numbered service can be reached, as either side tells the other. */
export type ConnInfo = MessageOf<typeof connInfo>;

export const broker = {
  /** One for each process, opened once: when it ends the plugin reaches nobody any more. */
  startStream: method("bidirectional", "/plugin.GRPCBroker/StartStream", connInfo, connInfo),
} as const;

export const controller = {
  /** It stops at once: the caller often sees the connection end before the answer, which is as good. */
  shutdown: method("unary", "/plugin.GRPCController/Shutdown", nothing, nothing),
} as const;

const stdioData = message({ channel: int32(1), data: bytesWithin(2) });

export const STDOUT = 1;
export const STDERR = 2;

export const stdio = {
  streamStdio: method("serverStream", "/plugin.GRPCStdio/StreamStdio", nothing, stdioData),
} as const;

export const multiplexing = {
  /** A plugin that does not know the method does not. */
  support: method(
    "unary",
    "/pluginutil.multiplexing.PluginMultiplexing/MultiplexingSupport",
    nothing,
    message({ supported: flag(1) }),
  ),
} as const;

/** Beside each call of one that serves several users: whose it is. Not beside those above. */
export const MULTIPLEX_ID = "multiplex_id";
