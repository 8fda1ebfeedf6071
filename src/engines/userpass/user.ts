// A user as it is kept, and where.

import { text, utf8 } from "../../base/bytes.ts";
import type { Codec } from "../../base/codec.ts";
import {
  keptTerms,
  type LoginTerms,
  type StoredTerms,
  storedTerms,
} from "../../../plugin-sdk/login-terms.ts";
import type { PasswordHash } from "./passwords.ts";

export interface User {
  readonly password: PasswordHash;
  readonly terms: LoginTerms;
}

interface Stored {
  readonly password: PasswordHash;
  readonly terms: StoredTerms;
}

export const USERS = "user/";

/** By the folded name. */
export function userKey(name: string): string {
  return `${USERS}${name}`;
}

export const userCodec: Codec<User> = {
  encode: ({ password, terms }) =>
    utf8(JSON.stringify({ password, terms: storedTerms(terms) } satisfies Stored)),
  decode: (bytes) => {
    const { password, terms } = JSON.parse(text(bytes)) as Stored;
    return { password, terms: keptTerms(terms) };
  },
};
