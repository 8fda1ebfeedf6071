// Going through the door to the first management token: once, and once more for each reset that an
// operator has allowed by a file on this host.

import { text } from "@holdfast/shared/bytes";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { Secret } from "@holdfast/shared/secret";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Fs } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import { type Remote, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { type BootstrapUse, putBootstrap, readBootstrap } from "./bootstrap.ts";
import * as failures from "../failures.ts";
import type { Minting } from "../token-writes.ts";
import type { Salt } from "../rows/salt.ts";
import { isUsableSecret, type Token } from "../token.ts";
import type { TokenRows } from "../rows/token-rows.ts";

const MAX_FILE_BYTES = 64; // a number and a newline
const OLDER_REMAIN =
  "ACL bootstrap was reset: tokens made before, management tokens among them, are still valid";

/** The file by which an operator allows one more bootstrap: it holds the reset index. */
export interface ResetFile {
  readonly fs: Pick<Fs, "read" | "replace" | "remove">;
  readonly path: string;
}

export interface BootstrappingParts {
  readonly rows: TokenRows;
  readonly minting: Minting;
  readonly use: BootstrapUse;
  /** Null: there can be no reset. */
  readonly reset: ResetFile | null;
  readonly salt: () => Salt;
  readonly log: Log;
}

export interface Bootstrapped {
  readonly token: Token;
  readonly warnings: readonly string[];
}

export class Bootstrapping {
  readonly #parts: BootstrappingParts;
  #known: bigint | null = null; // anybody may ask, and as often as they like

  constructor(parts: BootstrappingParts) {
    this.#parts = parts;
  }

  /** Of any number of calls at once one gets the token. `secret`: empty or left out for a random one. */
  async run(call: {
    readonly secret?: string | undefined;
    readonly remote: Pick<Remote, "loopback">;
  }): Promise<Bootstrapped> {
    const { rows, use } = this.#parts;
    if (use === "closed") throw failures.denied("bootstrap is closed (acl.bootstrap)");
    if (use === "loopback" && !call.remote.loopback) {
      throw failures.denied("bootstrap is for callers on loopback (acl.bootstrap)");
    }
    const allowed = readBootstrap(rows.shared).open ? null : this.#readReset();
    const made = await rows.shared.write((tx) => this.#pass(tx, allowed, call.secret ?? ""));
    if (!made.byReset) return { token: made.token, warnings: [] };
    this.#parts.log.warn(OLDER_REMAIN, { accessor: made.token.accessor });
    this.#spendReset();
    return { token: made.token, warnings: [OLDER_REMAIN] };
  }

  #pass(tx: Tx, allowed: bigint | null, secret: string) {
    const { rows, minting, salt } = this.#parts;
    const state = readBootstrap(tx.on(rows.shared));
    const resetIndex = state.resetIndex ?? 0n;
    if (!state.open) {
      if (allowed === null) {
        this.#tellWay(resetIndex);
        throw failures.alreadyBootstrapped(resetIndex);
      }
      if (allowed !== resetIndex) throw failures.resetIndexWrong(allowed, resetIndex);
    }
    const chosen = this.#chosen(tx, secret);
    const spec = {
      type: "management",
      namespaceId: ROOT_NAMESPACE.id,
      name: "Bootstrap Token",
      global: true,
    };
    const token = minting.mint(tx, salt(), spec, { secret: chosen, lifetimes: null });
    putBootstrap(tx.on(rows.shared), { open: false, resetIndex: tx.index });
    return { token, byReset: !state.open };
  }

  /** Where the file has to lie, for whoever has lost every management token. */
  #tellWay(resetIndex: bigint): void {
    const { reset, log } = this.#parts;
    if (reset === null || this.#known === resetIndex) return;
    this.#known = resetIndex;
    log.warn("ACL bootstrap was refused; it is allowed once more by a file that holds the number", {
      number: String(resetIndex),
      path: reset.path,
    });
  }

  #chosen(tx: Tx, secret: string): Secret<string> | undefined {
    if (secret === "") return undefined;
    const { rows, salt } = this.#parts;
    const usable = isUuid(secret) && isUsableSecret(secret);
    // One text for all: whether somebody has this secret is nobody's business.
    if (!usable || rows.placeOf(salt().hashOf(secret), tx) !== null) {
      throw failures.bootstrapSecretInvalid();
    }
    return new Secret(secret.toLowerCase());
  }

  /** Null without a file, and for one that cannot be understood. */
  #readReset(): bigint | null {
    const { reset, log } = this.#parts;
    if (reset === null) return null;
    try {
      const bytes = reset.fs.read(reset.path, MAX_FILE_BYTES);
      if (bytes === null) return null;
      const digits = /^\s*(\d{1,20})\s*$/.exec(text(bytes))?.[1];
      if (digits !== undefined) return BigInt(digits);
      log.warn("the bootstrap reset file does not hold a number", { path: reset.path });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      log.warn("the bootstrap reset file cannot be read", { cause: describe(error) });
    }
    return null;
  }

  /** Kept under another name, for whoever wonders. The number in it opens nothing any more, so a
   *  failure here (or a crash before) leaves nothing open. */
  #spendReset(): void {
    const { reset, log } = this.#parts;
    if (reset === null) return;
    try {
      const bytes = reset.fs.read(reset.path, MAX_FILE_BYTES);
      if (bytes === null) return;
      reset.fs.replace(`${reset.path}.used`, bytes);
      reset.fs.remove(reset.path);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      log.warn("the bootstrap reset file could not be renamed", { cause: describe(error) });
    }
  }
}
