// A user as it is kept, and where.

import { text, utf8 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import {
  keptTerms,
  type LoginTerms,
  type StoredTerms,
  storedTerms,
} from "@holdfast/plugin-sdk/login-terms";
import type { PasswordHash } from "./passwords.ts";

export interface User {
  /** Of this very user: a later one of the same name is another. Null: made before there were ids. */
  readonly id: string | null;
  readonly password: PasswordHash;
  readonly terms: LoginTerms;
}

interface Stored {
  readonly id?: string;
  readonly password: PasswordHash;
  readonly terms: StoredTerms;
}

export const USERS = "user/";

/** By the folded name. */
export function userKey(name: string): string {
  return `${USERS}${name}`;
}

export const userCodec: Codec<User> = {
  encode: ({ id, password, terms }) => {
    const stored: Stored = { password, terms: storedTerms(terms), ...(id === null ? {} : { id }) };
    return utf8(JSON.stringify(stored));
  },
  decode: (bytes) => {
    const { id = null, password, terms } = JSON.parse(text(bytes)) as Stored;
    return { id, password, terms: keptTerms(terms) };
  },
};
