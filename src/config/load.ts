// Files, environment and flags to one Config, or every problem at once.

import type { StringValue } from "../document/hcl-node.ts";
import type { Config } from "./config.ts";
import { type Files, filesOf, parse, readDocument } from "./documents.ts";
import { type FoundBody, type FoundValue, merge, NOTHING } from "./merge.ts";
import { makeConfig } from "./build.ts";
import { ConfigFailure, type Place, type Problem, Refusal } from "./problem.ts";
import { readBody } from "./reader.ts";
import { entryOf, shapeOf } from "./schema.ts";
import { settle, showSettings } from "./defaults.ts";
import { SETTINGS } from "./settings.ts";
import { type Environment, Texts } from "./substitution.ts";

export interface Sources {
  /** Files and directories, in order. */
  readonly paths: readonly string[];
  /** A document that is not in a file, after the files: how dev mode is configured. */
  readonly inline?: { readonly name: string; readonly text: string } | undefined;
  /** By key: what a flag of the command line says, over everything else. */
  readonly flags?: ReadonlyMap<string, { readonly name: string; readonly text: string }>;
  readonly env: Environment;
  readonly files: Files;
  /** Relative paths start here. */
  readonly directory: string;
  readonly hostname: string;
  /** Unknown keys are warnings. */
  readonly lenient?: boolean;
}

export interface Loaded {
  readonly config: Config;
  readonly warnings: readonly Problem[];
  /** The files that were read: documents, and those put in by `${file:…}`. */
  readonly files: readonly string[];
}

export async function loadConfig(sources: Sources): Promise<Loaded> {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const put = new Set<string>();
  const texts = new Texts(sources.env, sources.files, put);
  const reading = { texts, lenient: sources.lenient ?? false, problems, warnings };
  const shape = shapeOf(SETTINGS);
  const files = filesOf(sources.paths, sources.directory, sources.files, problems);

  let found: FoundBody = NOTHING;
  for (const file of files) {
    const document = await readDocument(file, sources.files, shape, problems);
    if (document === null) continue;
    found = merge(SETTINGS, found, readBody(SETTINGS, document.body, { file, ...reading }));
  }
  const { inline } = sources;
  if (inline !== undefined) {
    const body = await parse(inline.name, inline.text, shape);
    found = merge(SETTINGS, found, readBody(SETTINGS, body, { file: inline.name, ...reading }));
  }
  found = merge(SETTINGS, found, overrides(sources, texts, problems));

  // With a file that cannot be read, what the rest means together would be guesswork.
  if (problems.length > 0) throw new ConfigFailure(problems);
  const [first] = files;
  const whole: Place | null = first === undefined ? null : { name: first, position: null };
  const { directory, hostname } = sources;
  const effective = showSettings(SETTINGS, found);
  const making = { problems, warnings, directory, hostname, effective, whole };
  const config = makeConfig(settle(SETTINGS, found), making);
  if (problems.length > 0) throw new ConfigFailure(problems);
  return { config, warnings, files: [...files, ...put] };
}

/** The environment, then flags. An empty variable is one that is not set. */
function overrides({ env, flags }: Sources, texts: Texts, problems: Problem[]): FoundBody {
  const values = new Map<string, FoundValue>();
  const take = (key: string, place: Place, text: string) => {
    const entry = entryOf(SETTINGS, key);
    if (entry?.kind !== "field") return;
    try {
      values.set(key, { value: entry.read(plain(text), texts), hidden: false, place });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problems.push({ place, text: error.message });
    }
  };
  for (const [key, entry] of Object.entries(SETTINGS)) {
    if (entry.kind !== "field" || entry.env === null) continue;
    const text = env[entry.env];
    if (text !== undefined && text !== "") take(key, { name: entry.env, position: null }, text);
  }
  for (const [key, { name, text }] of flags ?? []) take(key, { name, position: null }, text);
  return { ...NOTHING, values };
}

function plain(text: string): StringValue {
  // Not substituted: whoever sets a variable can set it to what it should be.
  const literal = text.replaceAll("${", "$${");
  const position = { line: 1, column: 1, offset: 0 };
  return { kind: "string", text: literal, heredoc: null, position };
}
