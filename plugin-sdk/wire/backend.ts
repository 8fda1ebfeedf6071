// An engine in another process, as plugins of the ecosystem are one.

import { message, part, text, uint32 } from "@holdfast/shared/grpc/message";
import { method } from "@holdfast/shared/grpc/method";
import {
  existenceReply,
  handleRequestArgs,
  handleRequestReply,
  initializeArgs,
  paths,
  protoError,
  setupArgs,
} from "./backend-messages.ts";
import { nothing } from "./known-types.ts";
import { LARGE } from "./limits.ts";

/** What kind it says that it is. */
export const BackendType = { secret: 1, auth: 2 } as const;

/** With MULTIPLEX_ID beside each call of a process that is shared: Setup makes an instance, Cleanup ends it. */
export const backend = {
  handleRequest: method(
    "unary",
    "/pb.Backend/HandleRequest",
    handleRequestArgs,
    handleRequestReply,
    LARGE,
  ),
  specialPaths: method(
    "unary",
    "/pb.Backend/SpecialPaths",
    nothing,
    message({ paths: part(1, paths) }),
  ),
  handleExistenceCheck: method(
    "unary",
    "/pb.Backend/HandleExistenceCheck",
    handleRequestArgs,
    existenceReply,
    LARGE,
  ),
  cleanup: method("unary", "/pb.Backend/Cleanup", nothing, nothing),
  invalidateKey: method("unary", "/pb.Backend/InvalidateKey", message({ key: text(1) }), nothing),
  setup: method("unary", "/pb.Backend/Setup", setupArgs, message({ err: text(1) })),
  initialize: method(
    "unary",
    "/pb.Backend/Initialize",
    initializeArgs,
    message({ err: part(1, protoError) }),
  ),
  type: method("unary", "/pb.Backend/Type", nothing, message({ type: uint32(1) })),
} as const;

/** What it says of any other method before Setup. */
export const NO_INSTANCE = "no backend instance found";

export const version = {
  version: method(
    "unary",
    "/logical.PluginVersion/Version",
    nothing,
    message({ pluginVersion: text(1) }),
  ),
} as const;
