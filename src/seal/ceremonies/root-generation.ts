// Performs the ceremony of generate-root.ts: checks the shares, makes the token, covers it. What is
// made is handed in, so that the operation token of a DR secondary comes from the same code.

import { EMPTY, wipe } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import { Secret } from "@holdfast/shared/secret";
import type { Tx } from "../../barrier/view.ts";
import { encodeWithOtp, makeOtp } from "../../crypto/otp.ts";
import { encryptTo, fingerprint, readPublicKey } from "../../crypto/pgp.ts";
import { type Cancelling, isForgotten } from "./attempt.ts";
import * as collecting from "./collection.ts";
import { schemeOf } from "../config.ts";
import { recognises } from "../custody.ts";
import * as failures from "../failures.ts";
import * as machine from "./generate-root.ts";
import type { ShareInput, Ground } from "./ceremony-deps.ts";
import { parseShare, protectText } from "./share.ts";

/** The token that enough shares are worth. */
export interface Minting {
  /** In bytes, every time: a one-time password is made before the token. */
  readonly length: number;
  mint(tx: Tx): string;
  /** Whether the attempt is open to everybody, and so ends sooner. Default false. */
  readonly open?: boolean;
}

export interface StartOptions {
  /** A pad as long as the token. Default: one is made and shown once, in the answer. */
  readonly otp?: string | undefined;
  /** A public key to encrypt the token to, instead of a pad. */
  readonly pgpKey?: string | undefined;
}

export interface RootAttempt {
  readonly started: boolean;
  readonly nonce: string; // empty when none runs
  readonly progress: number;
  readonly required: number;
  readonly complete: boolean;
  readonly encodedToken: string; // empty until complete
  readonly pgpFingerprint: string; // empty without a key
  /** Only in the answer to the start, and only when it was made here. */
  readonly otp: Secret<string> | null;
  /** Only in the answer to the start. */
  readonly cancelNonce?: Secret<string>;
  readonly otpLength: number;
}

export class RootGeneration {
  readonly #ground: Ground;
  readonly #minting: Minting;
  /** Whether an attempt at another token has the one place there is. */
  readonly #isTaken: () => boolean;
  #state: machine.State = machine.NONE;

  constructor(ground: Ground, minting: Minting, isTaken: () => boolean = () => false) {
    this.#ground = ground;
    this.#minting = minting;
    this.#isTaken = isTaken;
  }

  get running(): boolean {
    this.#forget();
    return this.#state.at === "running";
  }

  progress(): RootAttempt {
    this.#forget();
    return this.#progress(schemeOf(this.#ground.config()).threshold);
  }

  async start(options: StartOptions = {}): Promise<RootAttempt> {
    this.#ground.config();
    // Before the turn: it may take its time.
    const { cover, made } = await this.#ground.reading.run(() => {
      if (this.running || this.#isTaken()) throw failures.ceremonyRunning();
      return this.#coverFor(options);
    });
    return this.#ground.turns.run(() => {
      const { threshold: required } = schemeOf(this.#ground.config());
      if (this.#isTaken()) throw failures.ceremonyRunning();
      const { random, clock } = this.#ground;
      const nonces = { nonce: random.uuid(), cancelNonce: random.uuid() };
      this.#apply({ do: "start", nonces, now: clock.elapsed(), cover, required });
      return { ...this.progress(), otp: made, cancelNonce: new Secret(nonces.cancelNonce) };
    });
  }

  update(input: ShareInput): Promise<RootAttempt> {
    return this.#ground.turns.run(async () => {
      const config = this.#ground.config();
      if (!this.running && this.#isTaken()) throw failures.otherCeremony();
      const { clock } = this.#ground;
      const { nonce } = input;
      const share = parseShare(input.key);
      const { enough } = this.#apply({ do: "give", nonce, share, now: clock.elapsed() });
      if (enough === null) return this.progress();
      let encodedToken: string | null;
      try {
        const right = await recognises(this.#ground, config, enough.collection);
        encodedToken = right ? await this.#mint(enough.cover) : null;
      } catch (error) {
        this.#apply({ do: "reject", now: clock.elapsed() });
        throw error;
      }
      if (encodedToken === null) {
        // Kept for the next share, or dropped after three sets.
        const after = this.#apply({ do: "fail" }).state;
        throw failures.invalidKey(after.at === "running");
      }
      const { required } = enough.collection;
      const attempt = { ...this.#progress(required), progress: required };
      const answer = { ...attempt, complete: true, encodedToken };
      this.#apply({ do: "end" });
      this.#ground.log.info("a token was generated from key shares");
      return answer;
    });
  }

  /** Nothing happens when none runs. */
  cancel(cancelling: Cancelling): Promise<void> {
    return this.#ground.turns.run(() => {
      this.#ground.config();
      this.#apply({ do: "cancel", ...cancelling });
    });
  }

  /** The node seals, or other shares are valid from now on. */
  drop(): void {
    this.#apply({ do: "end" });
  }

  /** An attempt that nobody gave a share to in its time is over. */
  #forget(): void {
    const { clock, log } = this.#ground;
    const { open } = this.#minting;
    if (this.#state.at === "none" || !isForgotten(this.#state, clock.elapsed(), open)) return;
    this.#apply({ do: "end" });
    log.info("an attempt at generating a token ended: no share was given in its time");
  }

  /** The token, covered. Nobody ever holds one that is stored and lost: all that can fail without the
   *  storage is done before or inside the transaction. */
  async #mint(cover: machine.Cover): Promise<string> {
    const { barrier, clock } = this.#ground;
    const now = clock.now();
    // The key may have expired since the start. Tried at the same instant, it will not refuse later.
    if (cover.by === "pgp") await encryptTo(cover.key, EMPTY, now);
    const minted = await barrier.ceremony((tx) => {
      const token = this.#minting.mint(tx);
      invariant(Buffer.byteLength(token) === this.#minting.length, "a token of another length");
      return cover.by === "otp" ? encodeWithOtp(token, cover.otp.reveal()) : token;
    });
    if (cover.by === "otp") return minted;
    return protectText(minted, cover.key, now);
  }

  async #coverFor(
    options: StartOptions,
  ): Promise<{ cover: machine.Cover; made: Secret<string> | null }> {
    const { clock, random } = this.#ground;
    const { otp = "", pgpKey = "" } = options;
    if (otp !== "" && pgpKey !== "") throw failures.otpAndPgp();
    if (pgpKey !== "") {
      const key = await readPublicKey(pgpKey, clock.now());
      return { cover: { by: "pgp", key, fingerprint: fingerprint(key) }, made: null };
    }
    const { length } = this.#minting;
    if (otp === "") {
      const made = new Secret(makeOtp(random, length));
      return { cover: { by: "otp", otp: made }, made };
    }
    if (Buffer.byteLength(otp) !== length) throw failures.otpLength(length);
    return { cover: { by: "otp", otp: new Secret(otp) }, made: null };
  }

  /** Without a look at the storage: a token that is made must not be kept back by it. */
  #progress(required: number): RootAttempt {
    const none = { started: false, nonce: "", progress: 0, required, complete: false };
    const rest = { encodedToken: "", pgpFingerprint: "", otp: null };
    return { ...none, ...rest, otpLength: this.#minting.length, ...running(this.#state) };
  }

  #apply(event: machine.Event): machine.Step {
    const taken = machine.step(this.#state, event);
    this.#state = taken.state;
    wipe(...taken.dropped);
    if (taken.refusal !== null) throw taken.refusal;
    return taken;
  }
}

function running(state: machine.State): Partial<RootAttempt> {
  if (state.at === "none") return {};
  const { nonce, cover, collection } = state;
  return {
    started: true,
    nonce,
    progress: collecting.progressOf(collection),
    required: collection.required,
    pgpFingerprint: cover.by === "pgp" ? cover.fingerprint : "",
  };
}
