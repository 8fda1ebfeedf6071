// What a room of the server is: one value, built by the `room.ts` in its folder out of what that file says
// it needs. Whatever is known of all rooms (what is served and in which order it is documented, what opens
// when, what a scrape reads, what runs in the background) is read from these values and nowhere else.

import { type Endpoint, type Served, serve } from "@holdfast/shared/endpoint/endpoint";
import { invariant } from "@holdfast/shared/invariant";
import type { Follower } from "../barrier/followers.ts";
import type { Tx, View } from "../barrier/view.ts";
import type { Readings } from "./readings.ts";

/**
 * The moments of a room's life, in the order in which they come. Nothing is stored and nobody outside is
 * called but between `lead` and `rest`: only one node of a cluster leads. Files in the directory of this node
 * alone are no part of that: what a crash or an earlier state has left there may go when the room opens.
 */
export interface RoomLife {
  /** In the transaction that makes the store. */
  created?(tx: Tx): void;
  /** The keys are there: loads what is asked for by requests, and follows it. */
  open?(): void | Promise<void>;
  /** This node is the active one: what writes or calls outside begins. */
  lead?(): void | Promise<void>;
  /** The node is about to rest: requests that wait for something here are answered, since they would be
   *  waited for. What it gives is waited for after they are gone. */
  interrupt?(): void | Promise<void>;
  /** No longer the active one: when it resolves, nothing of the room writes or calls outside. */
  rest?(): void | Promise<void>;
  /** The keys are about to go: forgets what it has loaded. */
  close?(): void | Promise<void>;
  /** How much of it runs while the data is another cluster's, and only rows below core/ can be written: all of it, or
   *  what it has loaded, without leading and without work in the background. Default: nothing. */
  readonly whileFollowing?: "leads" | "opens";
  /** What follows from its shared records in this cluster: for whoever applies those of another one. */
  readonly followers?: readonly Follower<unknown>[];
  /** What it keeps for a namespace that goes away. */
  readonly wipe?: NamespaceWipe;
  /** What a scrape of the metrics reads of it. */
  readonly metrics?: Partial<Readings>;
  readonly jobs?: readonly Job[];
}

export interface NamespaceWipe {
  /** Whether something outside goes with it: that comes before the records that it is known by. */
  readonly reachesOutside: boolean;
  /** Some of it. True when nothing is left. */
  run(namespaceId: string): Promise<boolean>;
}

/** Work in the background, by when it runs: from opening to closing, while this node is the active one of its
 *  cluster, or while its cluster is besides the primary of the data that several clusters share. */
export type JobTime = "always" | "while-active" | "while-primary";

export interface Job {
  readonly name: string;
  readonly when: JobTime;
  readonly work: {
    open(): void;
    /** Waits for what has begun; nothing follows it. */
    close(): void | Promise<void>;
  };
}

export interface Room extends RoomLife {
  /** Of its folder. */
  readonly name: string;
  /** What it answers to. */
  readonly endpoints: readonly Served[];
}

/** Declarations of one file, and what of the room answers them. */
export interface DeclaredFile<Parts = never> {
  readonly file: string;
  readonly endpoints: readonly Endpoint<never>[];
  readonly serve: (parts: Parts) => readonly Served[];
}

/** Everything below shared/ and local/, as a snapshot has it. */
export interface DataOfThen {
  readonly shared: View;
  readonly local: View;
}

/** `then`: what would answer over the data of a snapshot, where some of the endpoints can be answered from one. */
export function declares<Parts, Answering>(
  file: string,
  endpoints: readonly Endpoint<Answering>[],
  answering: (parts: Parts) => Answering,
  then?: (parts: Parts, data: DataOfThen) => Answering,
): DeclaredFile<Parts> {
  for (const { name, fromSnapshot, recovers } of endpoints) {
    const needs = fromSnapshot || recovers !== null;
    invariant(!needs || then !== undefined, `${name}: what would answer over a snapshot?`);
  }
  return {
    file,
    endpoints,
    serve: (parts) => {
      // Declarations know nothing of views; whoever loads a snapshot hands in these.
      const over = then && ((data: unknown) => then(parts, data as DataOfThen));
      return serve(answering(parts), endpoints, over ?? null);
    },
  };
}

/** A room before there is a server around it. `Parts` is what other rooms may be given of it. */
export interface RoomPlan<Needs, Parts extends object> {
  readonly name: string;
  /** In the order in which they are documented. */
  readonly declares: readonly DeclaredFile<Parts>[];
  readonly build: (needs: Needs) => Parts & RoomLife;
}

export function buildRoom<Needs, Parts extends object>(
  { name, declares: files, build }: RoomPlan<Needs, Parts>,
  needs: Needs,
): Parts & Room {
  const built = build(needs);
  return { ...built, name, endpoints: files.flatMap(({ serve: served }) => served(built)) };
}
