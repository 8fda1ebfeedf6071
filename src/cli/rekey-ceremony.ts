// The steps of a rekey, as its command takes them: start, old shares, new shares, cancel. By default the
// new shares must be entered before they become valid: if the answer that carries them is lost, the
// old ones still open the server.

import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import type { Secret } from "@holdfast/shared/secret";
import type { Context } from "./command.ts";
import { askShares, keepCancelNonce, notRunning, shareLines, tellProgress } from "./shares.ts";
import type { View } from "./terminal/output.ts";
import { shown } from "./terminal/value.ts";
import { UsageError } from "./usage-error.ts";

export class RekeyCeremony {
  readonly #context: Context;
  readonly #path: string;
  readonly #wanted: JsonObject;

  /** `wanted`: the body that starts one. */
  constructor(context: Context, target: "barrier" | "recovery", wanted: JsonObject) {
    this.#context = context;
    this.#path = target === "barrier" ? "sys/rekey" : "sys/rekey-recovery-key";
    this.#wanted = wanted;
  }

  async start(): Promise<void> {
    const { out } = this.#context;
    const status = await this.#post("init", this.#wanted);
    await out.show(status, statusView(status));
    out.hint(keepCancelNonce("rekey"));
    out.hint("Next: run `holdfast operator rekey` with shares of the present key");
  }

  async showStatus(verification: boolean): Promise<void> {
    const status = await this.#get(verification ? "verify" : "init");
    await this.#context.out.show(status, statusView(status));
  }

  /** `nonce`: the cancel nonce. Without it the token needs sudo. */
  async cancel(verification: boolean, nonce: string | undefined): Promise<void> {
    const { client, out } = this.#context;
    if ((await this.#get("init"))["started"] === false) throw notRunning("rekey");
    const step = verification ? "verify" : "init";
    const body = nonce === undefined ? {} : { nonce };
    await client.request("DELETE", `${this.#path}/${step}`, { body });
    out.done(
      verification
        ? "Success! The verification starts again; the old shares are still valid."
        : "Success! The rekey is ended; nothing has changed.",
    );
  }

  /** One share of the present key, or as many as a person gives. */
  async feed(share: Secret<string> | null, nonce: string | undefined): Promise<void> {
    const { out, prompt } = this.#context;
    let status = await this.#get("init");
    if (status["started"] !== true) {
      if (share !== null || !prompt.interactive) {
        throw new UsageError("no rekey is running", "start one with -init");
      }
      status = await this.#post("init", this.#wanted);
      out.hint(`Cancel nonce: ${textOf(status, "cancel_nonce")}. ${keepCancelNonce("rekey")}`);
    }
    if (textOf(status, "verification_nonce") !== "") return this.verify(share, nonce);
    const running = nonce ?? textOf(status, "nonce");
    out.hint(`Rekey ${running}\nEvery holder of a share should see this nonce.`);
    const give = async (given: Secret<string>) => {
      status = await this.#post("update", { key: given.reveal(), nonce: running });
      const complete = Array.isArray(status["keys"]) || status["complete"] === true;
      if (!complete) tellProgress(out, status["progress"], status["required"]);
      return complete;
    };
    if (share === null) await askShares(this.#context, "Share of the present key", give);
    else await give(share);
    if (!Array.isArray(status["keys"])) return out.show(status, statusView(status));
    await this.#showNewShares(status);
    const verificationNonce = textOf(status, "verification_nonce");
    if (status["verification_required"] !== true) return;
    if (prompt.interactive && share === null) return this.verify(null, verificationNonce);
    out.hint("Next: run `holdfast operator rekey -verify` with enough of the new shares");
  }

  /** New shares, which prove that they arrived. */
  async verify(share: Secret<string> | null, nonce: string | undefined): Promise<void> {
    const { out, prompt } = this.#context;
    const running = nonce ?? textOf(await this.#get("verify"), "nonce");
    let status: JsonObject = {};
    const give = async (given: Secret<string>) => {
      status = await this.#post("verify", { key: given.reveal(), nonce: running });
      if (status["complete"] === true) return true;
      tellProgress(out, status["progress"], status["t"]);
      return false;
    };
    if (share !== null) await give(share);
    else if (!prompt.interactive) await prompt.secret("New share"); // says that nobody can be asked
    else {
      out.hint(
        "Enter new shares now: they become valid, and the old ones void, when enough are in.",
      );
      await askShares(this.#context, "New share", give);
    }
    if (status["complete"] === true) out.hint("The new shares are valid; the old ones are void.");
    else out.hint("The old shares are still valid. Next: `holdfast operator rekey -verify`");
    await out.show(status, statusView(status));
  }

  async showBackup(): Promise<void> {
    const { client, out } = this.#context;
    const { data } = await client.request("GET", `${this.#path}/backup`);
    const kept = isObject(data) && isObject(data["keys_base64"]) ? data["keys_base64"] : {};
    await out.show(data, {
      columns: ["PGP Fingerprint", "Encrypted Share"],
      rows: Object.entries(kept).flatMap(([print, shares]) =>
        Array.isArray(shares) ? shares.map((one) => [print, one]) : [],
      ),
    });
  }

  async deleteBackup(): Promise<void> {
    const { client, out } = this.#context;
    await client.request("DELETE", `${this.#path}/backup`);
    out.done("Success! The kept shares are deleted.");
  }

  async #showNewShares(made: JsonObject): Promise<void> {
    const { out } = this.#context;
    await out.show(made, { text: shareLines("Key", made).join("\n") });
    const pending = made["verification_required"] === true;
    const until = pending ? " They become valid when they have been verified." : "";
    out.hint(`\nNew shares, shown once and kept nowhere.${until}`);
  }

  async #get(step: string): Promise<JsonObject> {
    const { body } = await this.#context.client.request("GET", `${this.#path}/${step}`);
    return isObject(body) ? body : {};
  }

  async #post(step: string, body: JsonObject): Promise<JsonObject> {
    const answer = await this.#context.client.request("POST", `${this.#path}/${step}`, { body });
    return isObject(answer.body) ? answer.body : {};
  }
}

function statusView(status: JsonObject): View {
  const { started, complete, nonce, n, t, progress, required } = status;
  const needed = required ?? t;
  const cancelNonce = textOf(status, "cancel_nonce");
  return {
    pairs: [
      ["Nonce", nonce],
      ...(cancelNonce === "" ? [] : [["Cancel Nonce", cancelNonce] as const]),
      ...(started === undefined ? [] : [["Started", started] as const]),
      ...(complete === undefined ? [] : [["Complete", complete] as const]),
      ["New Shares", n],
      ["New Threshold", t],
      ["Progress", `${shown(progress ?? 0)}/${shown(needed ?? 0)}`],
      ["Verification", textOf(status, "verification_nonce") || status["verification_required"]],
    ],
  };
}

function textOf(status: JsonObject, name: string): string {
  const value = status[name];
  return typeof value === "string" ? value : "";
}
