// `holdfast kv get`

import { Failure } from "@holdfast/shared/failure";
import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import * as kv from "@holdfast/client/api/kv";
import * as kv1 from "@holdfast/client/api/kv1";
import { AdvisedFailure } from "../advised-failure.ts";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { findKv, KEY_HELP, type KvPlace, MOUNT_FLAG } from "../kv-place.ts";
import { explainGone, versionLine } from "../kv-versions.ts";
import { shown } from "../terminal/value.ts";
import { WRAP_FLAG, wrappingClient } from "../wrap-flag.ts";

export const kvGet = command({
  name: "kv get",
  summary: "Read a secret",
  description:
    "The data goes to standard output, which version it is to standard error. -field prints one value " +
    "alone.",
  examples: [
    "holdfast kv get secret/app",
    "holdfast kv get -field password secret/app",
    "holdfast kv get -version 3 secret/app",
    "holdfast kv get -wrap-ttl 10m secret/app",
  ],
  flags: {
    ...MOUNT_FLAG,
    version: flag.integer("This version (the newest)", { min: 1 }),
    ...WRAP_FLAG,
  },
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out, clock }, { path, mount, version, wrapTtl }) {
    const place = (await findKv(client, path, mount)).needKey();
    if (version !== undefined) place.needVersions();
    const reader = wrappingClient(client, wrapTtl);
    if (place.version === 1) {
      const answer = await kv1.read(reader, place.mount, place.secret);
      return showAnswer(out, answer, "There is nothing to show.");
    }
    const answer = await kv
      .read(reader, place.mount, { ...place.secret, version })
      .catch(async (error: unknown) => {
        const told = explainGone(error, place, clock.now());
        throw version === undefined ? told : await noVersion(client, place, version, told);
      });
    if (answer.wrapInfo !== null) return showAnswer(out, answer, "There is nothing to show.");
    const { body, data } = answer;
    const { data: secret, metadata } = data;
    if (secret === null) throw new Failure("upstream", "answer-malformed", "there is no data");
    if (out.forPeople) out.hint(versionLine(place, metadata, clock.now()));
    await out.show(body, { pairs: Object.entries(secret) }, secret);
  },
});

/** Of a version that was asked for and is not there: whether the secret is. */
async function noVersion(
  client: Client,
  place: KvPlace,
  version: number,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof ApiError) || error.status !== 404) return error;
  try {
    const { data } = await kv.readMetadata(client, place.mount, place.secret);
    const { current_version, oldest_version } = data;
    return new AdvisedFailure(
      "not-found",
      "kv-version-absent",
      `${place.shown} has no version ${version}; there are ${shown(oldest_version)} to ${shown(current_version)}`,
      `\`holdfast kv metadata get ${place.shown}\` shows all versions`,
    );
  } catch (other) {
    if (other instanceof ApiError) return error;
    throw other;
  }
}
