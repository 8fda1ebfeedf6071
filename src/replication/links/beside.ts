// What a member serves that does not lead the set, or leads it in the place of the primary that it has followed: others that follow, or
// have followed, the same primary tell it here who leads. They know each other by the certificates of that primary, which says who they are.

import type { KeyObject } from "node:crypto";
import { type Greeting, PROTOCOL } from "../../cluster/hello.ts";
import type { MemberName } from "../../cluster/names.ts";
import type { Credentials } from "../../cluster/tls.ts";
import type { Peer } from "../../cluster/verify.ts";
import { serviceTable } from "../../grpc/method.ts";
import { fenceCall, type FencePorts } from "../joining/calls.ts";
import { notKnown } from "../joining/failures.ts";
import type { Sibling } from "../stream/messages.ts";
import type { ServingPort } from "./serving.ts";

export interface BesideWorld extends Pick<
  FencePorts,
  "fenced" | "leads" | "candidates" | "revoke"
> {
  readonly barrier: { readonly rootKey: KeyObject };
  readonly version: string;
  readonly clusterId: () => string;
  /** Those that the primary has named last: whom it has revoked is none of them. */
  readonly siblings: () => readonly Sibling[];
}

export class Beside {
  readonly #world: BesideWorld;
  readonly #port: ServingPort;
  readonly #member: MemberName & Credentials;

  constructor(world: BesideWorld, port: ServingPort, member: MemberName & Credentials) {
    this.#world = world;
    this.#port = port;
    this.#member = member;
  }

  open(): void {
    const { authority, certificate, key } = this.#member;
    const secondaries = {
      assertKnown: (peer: Peer) => void this.#known(peer),
      clusterOf: (peer: Peer) => this.#known(peer).cluster,
    };
    this.#port.serve({
      ...this.#name,
      authority,
      certificate,
      key,
      table: serviceTable([fenceCall(this.#name, { ...this.#world, secondaries })]),
      greet: async (_hello, peer) => this.#greet(peer),
      revoked: [],
    });
  }

  close(): void {
    this.#port.forget(this.#name);
  }

  get #name() {
    const { set, kind } = this.#member;
    return { set, kind, beside: true } as const;
  }

  #greet(peer: Peer): Greeting {
    this.#known(peer);
    const { clusterId, version } = this.#world;
    return { clusterId: clusterId(), protocol: PROTOCOL, version };
  }

  #known({ serial }: Peer): Sibling {
    const found = this.#world.siblings().find(({ serials }) => serials.includes(serial));
    if (found === undefined) throw notKnown();
    return found;
  }
}
