// What of its data a primary sends to members of one kind: everything to those that stand in for it, and to those that answer beside
// it what is shared. A key that is not of these classes goes to nobody, whatever a member asks for.

import type { Hello } from "../../cluster/hello.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import { classOf, isLegalKey } from "../../storage/key.ts";
import { decodeHead } from "../../storage/rows/head.ts";
import { type TreeName, TREES } from "../../storage/rows/merkle.ts";
import { decide, decideShared, type Decision, type LogFacts } from "../stream/decision.ts";

export interface SentPart {
  /** In the order in which their pages are numbered. */
  readonly trees: readonly TreeName[];
  decide(hello: Hello, own: LogFacts): Decision;
  /** Of a copy that goes on: the index that it began with. */
  anchorOf(hello: Hello): bigint;
}

const PARTS: Readonly<Record<ReplicationKind, SentPart>> = {
  dr: {
    trees: TREES,
    decide,
    anchorOf: ({ half }) => decodeHead(half!.head).index,
  },
  performance: {
    trees: ["shared"],
    decide: decideShared,
    anchorOf: ({ cursor }) => cursor!.index,
  },
};

export function sentTo(kind: ReplicationKind): SentPart {
  return PARTS[kind];
}

export function mayLeave({ trees }: SentPart, key: string): boolean {
  if (!isLegalKey(key)) return false;
  const found = classOf(key);
  return found !== "ignored" && trees.includes(found);
}
