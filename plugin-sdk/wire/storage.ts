// The storage of a mount as plugins of the ecosystem have it, with the transactions and pages that one family of them
// knows. `txn` is empty outside of a transaction.

import { bytes, flag, int32, list, message, part, text } from "@holdfast/shared/grpc/message";
import { method } from "@holdfast/shared/grpc/method";
import { walIndex } from "./backend-messages.ts";
import { nothing } from "./known-types.ts";
import { LARGE, MANY_KEYS } from "./limits.ts";

const entry = message({ key: text(1), value: bytes(2), sealWrap: flag(3) });
const keys = message({ keys: list(text(1), MANY_KEYS), err: text(2) });
const written = message({ err: text(1), walIndex: part(2, walIndex) });
const begun = message({ txn: text(1), err: text(2) });
const ofTxn = message({ txn: text(1) });
const ended = message({ err: text(1) });

export const storage = {
  list: method(
    "unary",
    "/pb.Storage/List",
    message({ prefix: text(1), txn: text(2) }),
    keys,
    LARGE,
  ),
  get: method(
    "unary",
    "/pb.Storage/Get",
    message({ key: text(1), txn: text(2) }),
    message({ entry: part(1, entry), err: text(2) }),
    LARGE,
  ),
  put: method(
    "unary",
    "/pb.Storage/Put",
    message({ entry: part(1, entry), txn: text(2) }),
    written,
    LARGE,
  ),
  delete: method("unary", "/pb.Storage/Delete", message({ key: text(1), txn: text(2) }), written),
  listPage: method(
    "unary",
    "/pb.Storage/ListPage",
    message({ prefix: text(1), after: text(2), limit: int32(3), txn: text(4) }),
    keys,
    LARGE,
  ),
  isTransactional: method(
    "unary",
    "/pb.Storage/IsTransactional",
    nothing,
    message({ transactional: flag(1) }),
  ),
  beginReadOnlyTx: method("unary", "/pb.Storage/BeginReadOnlyTx", nothing, begun),
  beginTx: method("unary", "/pb.Storage/BeginTx", nothing, begun),
  commit: method("unary", "/pb.Storage/Commit", ofTxn, ended),
  rollback: method("unary", "/pb.Storage/Rollback", ofTxn, ended),
} as const;

/** Texts that plugins look for. */
export const READ_ONLY_STORAGE = "cannot write to readonly storage";
export const STORAGE_IN_SETUP = "cannot write to storage during setup";
