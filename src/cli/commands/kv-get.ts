// `holdfast kv get`

import { Failure } from "../../base/failure.ts";
import { isObject } from "../../base/json.ts";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "../kv-place.ts";
import { explainGone, recordOf, versionLine } from "../kv-versions.ts";
import { WRAP_FLAG } from "../wrap-flag.ts";

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
  args: { path: argument.required(KEY_HELP) },
  async run({ client, out, clock }, { path, mount, version, wrapTtl }) {
    const place = (await findKv(client, path, mount)).needKey();
    if (version !== undefined) place.needVersions();
    const answer = await client
      .request("GET", place.at("data"), { query: { version }, wrapTtl })
      .catch((error: unknown) => {
        throw explainGone(error, place, clock.now());
      });
    const { body, data } = answer;
    const wrapped = isObject(body) && isObject(body["wrap_info"]);
    if (place.version === 1 || wrapped) return showAnswer(out, answer, "There is nothing to show.");
    const { data: secret, metadata } = recordOf(data);
    if (!isObject(secret)) throw new Failure("upstream", "answer-malformed", "there is no data");
    if (out.forPeople) out.hint(versionLine(place, metadata, clock.now()));
    await out.show(body, { pairs: Object.entries(secret) }, secret);
  },
});
