// A database in another process: protocol 5 with one connection, 6 with several. It reaches nobody: what it needs stands
// in its configuration.

import {
  bytes,
  flag,
  int32,
  list,
  message,
  type MessageOf,
  part,
  text,
  uint32,
} from "@holdfast/shared/grpc/message";
import { method } from "@holdfast/shared/grpc/method";
import { nothing, struct, timestamp } from "./known-types.ts";
import { MANY } from "./limits.ts";

/** Beside the ecosystem's own fields: what only our SDK says. */
const OURS = 20_000;

const statements = message({ commands: list(text(1), MANY) });

const newUser = message({
  usernameConfig: part(1, message({ displayName: text(1), roleName: text(2) })),
  password: text(2),
  expiration: part(3, timestamp),
  statements: part(4, statements),
  rollbackStatements: part(5, statements),
  credentialType: int32(6),
  publicKey: bytes(7),
  subject: text(8),
  /** The whole name that the user is to have. Empty: the plugin makes one. */
  username: text(OURS),
});
export type NewUserRequest = MessageOf<typeof newUser>;

const updateUser = message({
  username: text(1),
  password: part(2, message({ newPassword: text(1), statements: part(2, statements) })),
  expiration: part(
    3,
    message({ newExpiration: part(1, timestamp), statements: part(2, statements) }),
  ),
  publicKey: part(4, message({ newPublicKey: bytes(1), statements: part(2, statements) })),
  credentialType: int32(5),
  selfManagedPassword: text(6),
});
export type UpdateUserRequest = MessageOf<typeof updateUser>;

/** A template of names that takes what it is given as the whole name: plugins of others make them. */
export const NAME_AS_GIVEN = "{{.DisplayName}}";

export const CredentialType = { password: 0, rsaPrivateKey: 1, clientCertificate: 2 } as const;

export const database = {
  initialize: method(
    "unary",
    "/dbplugin.v5.Database/Initialize",
    message({ configData: part(1, struct), verifyConnection: flag(2) }),
    message({
      configData: part(1, struct),
      /** Names of members that are shown to nobody. */
      secretFields: list(text(OURS), MANY),
      /** Bytes of a name, at most; 0: it does not say. */
      maxUsername: uint32(OURS + 1),
    }),
  ),
  newUser: method(
    "unary",
    "/dbplugin.v5.Database/NewUser",
    newUser,
    message({ username: text(1) }),
  ),
  updateUser: method("unary", "/dbplugin.v5.Database/UpdateUser", updateUser, nothing),
  deleteUser: method(
    "unary",
    "/dbplugin.v5.Database/DeleteUser",
    message({ username: text(1), statements: part(2, statements) }),
    nothing,
  ),
  type: method("unary", "/dbplugin.v5.Database/Type", nothing, message({ type: text(1) })),
  close: method("unary", "/dbplugin.v5.Database/Close", nothing, nothing),
} as const;
