// Somebody who comes to the cluster port of a performance primary and is no secondary of its set, and has it write in the name of
// somebody: what a secondary would send for one of its own callers.

import { randomUUID } from "node:crypto";
import { utf8 } from "@holdfast/shared/bytes";
import { callUnary } from "@holdfast/shared/grpc/method";
import { Sweep } from "@holdfast/shared/sweep";
import { SECOND } from "@holdfast/shared/text/duration";
import { issueMember, makeAuthority } from "../../../../src/cluster/authority.ts";
import { TlsCarrier } from "../../../../src/cluster/tls-carrier.ts";
import { forward, type ForwardAnswer } from "../../../../src/forwarding/messages.ts";
import { type Activation, readActivation } from "../../../../src/replication/joining/activation.ts";
import { linkTo } from "../../../../src/replication/links/dialing.ts";
import { SystemClock } from "../../../../src/system/clock.ts";
import { SystemNet } from "../../../../src/system/net.ts";
import { SystemRandom } from "../../../../src/system/random.ts";
import { SystemTimers } from "../../../../src/system/timers.ts";
import { at } from "../../http-client.ts";
import type { ClusterProcess } from "../cluster-process.ts";
import { is, perf } from "./region-process.ts";

const WORLD = { clock: new SystemClock(), timers: new SystemTimers(), net: new SystemNet() };
const KIND = "performance";

/** Management of the primary would be nobody's by the word of another cluster: a client by the name of every policy is what one can be. */
const CALLER = {
  accessor: "11111111-2222-4333-8444-555555555555",
  name: "",
  policies: ["writer"],
  namespaceId: "root",
  namespacePath: "",
  created: 0n,
  expires: 0n,
  isWithoutDefault: false,
  origin: null,
  terms: null,
};

export class Stranger {
  readonly #primary: ClusterProcess;
  readonly #own: Activation;
  readonly #clusterId = randomUUID();

  private constructor(primary: ClusterProcess, own: Activation) {
    this.#primary = primary;
    this.#own = own;
  }

  /** Has an activation token of that primary, and has unwrapped it: what it finds there is a certificate of the set that nobody uses. */
  static async of(primary: ClusterProcess, id: string): Promise<Stranger> {
    const made = await perf(primary, "primary/secondary-token", { id });
    is(made, 200);
    const token = String(at(made, "wrap_info", "token"));
    const opened = await primary.call("POST", "/v1/sys/wrapping/unwrap", { token });
    is(opened, 200);
    const own = readActivation(at(opened, "data"), KIND, { now: WORLD.clock.now() });
    return new Stranger(primary, own);
  }

  /** The address of the port, which it comes to directly. */
  get #address(): string {
    return `https://127.0.0.1:${this.#primary.clusterPort}`;
  }

  /** Throws where nobody takes its word for anything. */
  async writes(
    by: "a certificate of its own making" | "no hello" | "a hello",
    target: string,
    body: object,
  ): Promise<ForwardAnswer> {
    const request = {
      id: randomUUID(),
      verb: "POST",
      target,
      namespace: "",
      credential: "",
      attested: CALLER,
      body: utf8(JSON.stringify(body)),
      contentType: "application/json",
      headers: [],
      address: "192.0.2.7",
      port: 1,
      wrapTtl: 0n,
      isWrappedAsJwt: false,
      wrapsItself: true,
      policyOverride: false,
      clusterId: this.#clusterId,
    };
    if (by === "no hello") {
      const sweep = new Sweep(WORLD.clock, WORLD.timers);
      const to = { host: "127.0.0.1", port: this.#primary.clusterPort };
      const carrier = new TlsCarrier({ ...WORLD, sweep }, to, this.#own);
      const carried = await carrier.connect(5n * SECOND, undefined);
      try {
        return await callUnary(carried, forward, request, { timeout: 5n * SECOND });
      } finally {
        carried.destroy();
      }
    }
    const member = by === "a hello" ? this.#own : await this.#forged();
    const link = linkTo(this.#address, member, WORLD);
    try {
      const hello = { clusterId: this.#clusterId, version: "0.1.0", region: "elsewhere" };
      await link.open(hello);
      return await link.call(forward, request, { timeout: 5n * SECOND });
    } finally {
      await link.close();
    }
  }

  /** With the names of a member of the set, by an authority that has its name. */
  async #forged() {
    const { set, authority } = this.#own;
    const world = { clock: WORLD.clock, random: new SystemRandom() };
    const own = await makeAuthority({ set, kind: KIND }, world);
    const pair = await issueMember(own, "region-b", world);
    return { set, kind: KIND, id: "region-b", authority, ...pair } as const;
  }
}
