// The rows that follow from the record of a token, below local/ and empty: whoever has the record knows them,
// be it the one who writes it or one who is sent it from another cluster.

import type { Token } from "../token.ts";
import * as keys from "./token-keys.ts";

/** All of them, by their keys. What is written when its time is over is no part of it: that is this cluster's
 *  own knowledge. */
export function derivedKeys(token: Token): string[] {
  const { expires, terms } = token;
  const derived = [keys.creationKey(token)];
  if (expires !== null) derived.push(keys.timedKey(keys.EXPIRIES, { place: token, expires }));
  if (token.type === "management") derived.push(keys.managementKey(token));
  if (token.type === "management" && expires === null) derived.push(keys.unendingKey(token));
  const parent = terms?.parent ?? null;
  if (parent !== null) derived.push(keys.childKey(parent, token));
  const login = keys.cameByLogin(token);
  if (login !== null) derived.push(keys.loginKey(login, token));
  return derived;
}

/** What a change of the record changes among them. */
export function changedKeys(
  before: Token,
  after: Token,
): { readonly gone: readonly string[]; readonly come: readonly string[] } {
  const [old, now] = [derivedKeys(before), derivedKeys(after)];
  return {
    gone: old.filter((key) => !now.includes(key)),
    come: now.filter((key) => !old.includes(key)),
  };
}
