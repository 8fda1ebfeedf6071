// Short ids: part of every storage key of a namespace, so few characters; random, so that they tell
// nothing of how many there are.

import { invariant } from "@holdfast/shared/invariant";
import type { Random } from "@holdfast/shared/world";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const LENGTH = 8; // 40 bits
const TRIES = 16;

export function newId(random: Random, isFree: (id: string) => boolean): string {
  for (let tried = 0; tried < TRIES; tried++) {
    let id = "";
    for (const byte of random.bytes(LENGTH)) id += ALPHABET[byte % ALPHABET.length];
    if (isFree(id)) return id;
  }
  invariant(false, "a random id is free sooner or later");
}
