// The endpoints that tell what a token may do.

import { withoutFirstSlash } from "@holdfast/shared/text/slashes";
import { foldedUuid } from "@holdfast/shared/text/uuid";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out, type OutputOf } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext, Caller } from "@holdfast/shared/endpoint/request";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { CapabilityQueries, Decider } from "./capability-queries.ts";
import * as failures from "../failures.ts";

const endpoint = endpointsOf<CapabilityQueries>();

const MAX_SECRET = 8192;

const fields = {
  paths: wire
    .body("paths", { aliases: ["path"] })
    .list("Paths, relative to the namespace of the request.", { form: withoutFirstSlash })
    .optional(),
};
const explain = wire
  .query("explain")
  .boolean("Also name the rule that decides for each path, and the policies it stands in.")
  .default(false);

const words = out.anyObject(
  "Words by path, sorted; those of a single path also as capabilities. With explain, the deciding rule by path.",
);

const rules = out.mapOf(
  out.object({ capabilities: out.list(out.string("Word."), "What the rule grants.") }),
  "Rules by path.",
);
const resultant = out.object({
  root: out.boolean("Whether it is a management token, which no rule binds."),
  chroot_namespace: out.string("Always empty."),
  exact_paths: rules,
  glob_paths: rules,
});

export const capabilitiesApi = [
  endpoint({
    name: "tokenCapabilities",
    method: "POST",
    path: "/sys/capabilities",
    summary: "Tell what a token may do on paths, by its secret.",
    access: access.capability,
    belongs: "local",
    input: {
      secret: wire
        .body("token")
        .secret("Secret of the token.", { max: MAX_SECRET, form: foldedUuid })
        .optional(),
      ...fields,
      explain,
    },
    output: words,
    handler: (queries, { secret, ...input }, of) => {
      const credential = secret?.reveal() ?? "";
      if (credential === "") throw failures.tokenMissing();
      return answerFor(queries, of, input, () => queries.bySecret(credential, of.namespace));
    },
  }),
  endpoint({
    name: "accessorCapabilities",
    method: "POST",
    path: "/sys/capabilities-accessor",
    summary: "Tell what a token may do on paths, by its accessor.",
    access: access.capability,
    belongs: "local",
    input: {
      accessor: wire
        .body("accessor")
        .string("Accessor of the token.", { form: foldedUuid })
        .optional(),
      ...fields,
      explain,
    },
    output: words,
    handler: (queries, { accessor = "", ...input }, of) => {
      if (accessor === "") throw failures.accessorMissing();
      return answerFor(queries, of, input, () => queries.byAccessor(accessor, of.namespace));
    },
  }),
  endpoint({
    name: "ownCapabilities",
    method: "POST",
    path: "/sys/capabilities-self",
    summary: "Tell what the caller's own token may do on paths.",
    access: access.capability,
    belongs: "local",
    input: fields,
    output: words,
    handler: (queries, input, of) => answerFor(queries, of, input, () => queries.self(of)),
  }),
  endpoint({
    name: "resultantAcl",
    method: "GET",
    path: "/sys/internal/ui/resultant-acl",
    summary: "Tell all rules of the caller's policies together.",
    description: "Prefix rules stand there without their star, those with + as they were written.",
    access: access.capability,
    input: {},
    output: resultant,
    handler: async (queries, _, of) => {
      const found = await queries.all(queries.self(of), of.namespace);
      const exact = found?.rules.filter((rule) => rule.exact) ?? [];
      const glob = found?.rules.filter((rule) => !rule.exact) ?? [];
      const output: OutputOf<typeof resultant> = {
        root: found === null,
        chroot_namespace: "",
        exact_paths: byPath(exact),
        glob_paths: byPath(glob),
      };
      const warnings = found?.more === true ? ["there are more rules than one answer shows"] : [];
      return reply(output, { warnings });
    },
  }),
];

interface Input {
  readonly paths: readonly string[] | undefined;
  readonly explain?: boolean;
}

async function answerFor(
  queries: CapabilityQueries,
  of: RequestContext,
  input: Input,
  whose: () => Caller,
) {
  const paths = input.paths ?? [];
  if (paths.length === 0) throw failures.pathsMissing();
  const { capabilities, warnings } = await queries.on(whose(), of.namespace, paths, of.pace);
  const [only] = capabilities;
  const data: Record<string, JsonValue> = Object.fromEntries(
    capabilities.map((one) => [one.path, one.words]),
  );
  if (only !== undefined && capabilities.length === 1) data["capabilities"] = only.words;
  if (input.explain === true) {
    data["explain"] = Object.fromEntries(
      capabilities.map(({ path, decider }) => [path, decider === null ? null : showRule(decider)]),
    );
  }
  return reply(data, { warnings });
}

function showRule({ label, policies }: Decider): JsonObject {
  return { rule: label, policies: policies.map((place) => ({ ...place })) };
}

function byPath(rows: readonly { readonly label: string; readonly words: readonly string[] }[]) {
  return Object.fromEntries(
    rows.map(({ label, words: capabilities }) => [label, { capabilities }]),
  );
}
