// The keys of the set, over a session of the cluster port: a member registers a key of its own when it first comes, and is
// sent everything sealed to that. Later it asks again, when the primary has rotated or rekeyed.

import { bytes, message } from "../../grpc/message.ts";
import { method } from "../../grpc/method.ts";
import { MAX_BUNDLE } from "../joining/key-bundle.ts";

const SERVICE = "/holdfast.cluster.v1.Replication";
const OVERHEAD = 1024;

const registration = message({ publicKey: bytes(1) });
const question = message({});
const sealed = message({ bundle: bytes(1) });

const bounds = { maxRequest: OVERHEAD, maxResponse: MAX_BUNDLE + OVERHEAD, atOnce: 1 };

export const bootstrap = method("unary", `${SERVICE}/Bootstrap`, registration, sealed, bounds);
export const getKeys = method("unary", `${SERVICE}/GetKeys`, question, sealed, bounds);
