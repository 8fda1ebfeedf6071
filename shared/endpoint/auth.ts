// The `auth` member of an envelope: a token that was made or prolonged. An endpoint
// whose output is `inAuth` answers there and has nothing in `data`.

import { out, type Output, type OutputOf } from "./output.ts";

export const authBlock = out.object({
  client_token: out.secret("The credential; empty where only its accessor was given."),
  accessor: out.string("Identifies the token, without being a credential."),
  policies: out.list(out.string("Name of a policy."), "What the token may do."),
  token_policies: out.list(out.string("Name of a policy."), "The same."),
  metadata: out.mapOf(out.string("Text."), "What was noted when it was made."),
  lease_duration: out.integer("Seconds that are left; 0: it does not expire."),
  renewable: out.boolean("Whether it can be renewed."),
  token_type: out.oneOf(["service"], "There is one kind."),
  entity_id: out.string("Empty: there are no entities."),
  orphan: out.boolean("It does not end with the token that made it."),
  num_uses: out.integer("Uses that are left; 0: as many as one likes."),
});

export type AuthBlock = OutputOf<typeof authBlock>;

/** Told apart by being this very object. */
export const inAuth: Output<undefined> = { schema: authBlock.schema };
