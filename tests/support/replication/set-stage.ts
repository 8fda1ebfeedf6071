// A primary of a replication set as it is stored, in a world whose clock goes by the test from the hour at which it runs:
// certificates are real.

import { X509Certificate } from "node:crypto";
import type { IssuedPair } from "../../../src/cluster/authority.ts";
import { type Peer, verifyMember } from "../../../src/cluster/verify.ts";
import {
  enablePrimary,
  makePrimary,
  Secondaries,
} from "../../../src/replication/joining/secondaries.ts";
import type { View } from "../../../src/barrier/view.ts";
import { FakeClock } from "../fake-world.ts";
import { type MadeBarrier, madeBarrier, sealedBarrier, unsealed } from "../made/made-barrier.ts";

export const SET = "5f3d2c10-0000-4000-8000-0000000000aa";
export const EPOCH = { number: 3, cluster: "0b8e2f3e-0000-4000-8000-00000000000a", first: "41" };
export const ADDRESS = "https://primary.example:8201";

export class SetStage {
  readonly clock = new FakeClock(BigInt(Date.now()) * 1_000_000n);
  made: MadeBarrier;

  private constructor(made: MadeBarrier) {
    this.made = made;
  }

  static async start(): Promise<SetStage> {
    const stage = new SetStage(await madeBarrier());
    await stage.enable();
    return stage;
  }

  get view(): View {
    return this.made.barrier.view("core/replication/dr/");
  }

  get secondaries(): Secondaries {
    const { random } = this.made.world;
    return new Secondaries({ view: this.view, kind: "dr", clock: this.clock, random });
  }

  async enable(): Promise<void> {
    const { random } = this.made.world;
    const material = await makePrimary({ set: SET, kind: "dr" }, { clock: this.clock, random });
    await this.view.write((tx) => enablePrimary(tx, material));
  }

  /** Another process on the same disk. */
  async restart(): Promise<void> {
    await this.made.barrier.seal();
    this.made = sealedBarrier(this.made.disk);
    unsealed(this.made.barrier);
    await this.made.store.settled();
  }

  /** As the port sees who shows a certificate. */
  peer({ certificate }: Pick<IssuedPair, "certificate">): Peer {
    const { authority } = this.secondaries.material;
    const peer = verifyMember(
      new X509Certificate(certificate),
      new X509Certificate(authority.certificate),
      authority,
      this.clock.now(),
    );
    if ("mismatch" in peer) throw new Error(peer.mismatch);
    return peer;
  }
}
