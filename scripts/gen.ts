// `npm run gen [-- --check]`: writes what is derived from the declarations and kept in the repository:
// client/api.ts and client/api/, a typed function for every endpoint, docs/endpoints.md, which says where
// each is declared and who may call it, and docs/errors.md, which says what every code of an error means.
// With --check it only tells whether they are up to date (exit code 1 if not).

import { spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import type { Endpoint } from "@holdfast/shared/endpoint/endpoint";
import { generateClient, type DeclaredGroup } from "./client-functions.ts";
import { errorsPage, productFiles, readErrorCodes } from "./error-codes.ts";
import { requireRuntime } from "./runtime.ts";

const root = join(import.meta.dirname, "..");
export const CLIENT_INDEX = join(root, "client", "api.ts");
export const CLIENT_FOLDER = join(root, "client", "api");
export const ERRORS_FILE = join(root, "docs", "errors.md");
export const ENDPOINTS_FILE = join(root, "docs", "endpoints.md");

/** Every file of the client that is generated, with its text. */
export async function clientFiles(): Promise<ReadonlyMap<string, string>> {
  const { surface, mountedSurface } = await import("../src/surface.ts");
  const groups: DeclaredGroup[] = [
    ...surface.map(({ file, endpoints }) => ({ group: file.split("/")[1]!, at: "", endpoints })),
    ...mountedSurface,
  ];
  const texts = Array.from(generateClient(groups), ([name, text]): [string, string] => [
    name === "" ? CLIENT_INDEX : join(CLIENT_FOLDER, `${name}.ts`),
    text,
  ]);
  return formatted(new Map(texts));
}

/** Files beside those that are generated: of rooms that are gone. */
export function leftOver(files: ReadonlyMap<string, string>): string[] {
  return globSync(join(CLIENT_FOLDER, "*.ts")).filter((file) => !files.has(file));
}

/** The endpoints as a document: a change of access is seen in review. */
export async function endpointsDocument(): Promise<string> {
  const { surface, mountedSurface } = await import("../src/surface.ts");
  const { accessInWords } = await import("../src/endpoint/help.ts");
  const table = (title: string, start: string, endpoints: readonly Endpoint<never>[]) => {
    const rows = endpoints.map((endpoint) => {
      const path = (start + endpoint.path).replace(/^\/|\/$/g, "");
      return `| ${endpoint.method} | \`${path}\` | ${accessInWords(endpoint)} | ${endpoint.summary} |`;
    });
    return `## ${title}\n\n| Method | Path | Who | What |\n| --- | --- | --- | --- |\n${rows.join("\n")}\n`;
  };
  const parts = [
    ...surface.map(({ file, endpoints }) => table(file, "", endpoints)),
    ...mountedSurface.map(({ title, at, endpoints }) =>
      table(`Mounts of type ${title}`.replace("type every", "every"), at, endpoints),
    ),
  ];
  const opening =
    "# Endpoints\n\nWritten by `npm run gen` out of the declarations: do not edit. All paths are below `/v1`; " +
    "`sys` and `acl` answer without it too. POST stands for PUT as well.\n\n";
  return format(opening + parts.join("\n"), ENDPOINTS_FILE);
}

/** The codes of errors as a document. Throws where a code has no row, or a row no code. */
export async function errorsDocument(): Promise<string> {
  const { STATUS } = await import("../src/http/status.ts");
  const codes = readErrorCodes(productFiles(root));
  if (codes.problems.length > 0) throw new Error(codes.problems.join("\n"));
  return format(errorsPage(codes, STATUS), ERRORS_FILE);
}

/** Texts by the names of their files, formatted like the rest of the house. */
export function formatted(texts: ReadonlyMap<string, string>): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-gen-"));
  try {
    const names = Array.from(
      texts.keys(),
      (file, i) => [file, join(folder, `${i}-${basename(file)}`)] as const,
    );
    for (const [file, name] of names) writeFileSync(name, texts.get(file) ?? "");
    const formatter = join(root, "node_modules", ".bin", "oxfmt");
    const settings = ["--config", join(root, ".oxfmtrc.json"), folder];
    const { status, stderr } = spawnSync(formatter, settings, { cwd: root, encoding: "utf8" });
    if (status !== 0) throw new Error(`what was generated cannot be formatted: ${stderr}`);
    return new Map(names.map(([file, name]) => [file, readFileSync(name, "utf8")]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function format(text: string, file: string): string {
  return formatted(new Map([[file, text]])).get(file) ?? "";
}

if (import.meta.main) {
  requireRuntime();
  const client = await clientFiles();
  const files = new Map([
    ...client,
    [ENDPOINTS_FILE, await endpointsDocument()],
    [ERRORS_FILE, await errorsDocument()],
  ]);
  if (process.argv.includes("--check")) {
    const stale = [...files].filter(([file, text]) => textOf(file) !== text).map(([file]) => file);
    for (const file of [...stale, ...leftOver(client)]) {
      console.error(`${relative(root, file)} is not up to date: run \`npm run gen\``);
      process.exitCode = 1;
    }
  } else {
    for (const file of leftOver(client)) rmSync(file);
    mkdirSync(CLIENT_FOLDER, { recursive: true });
    for (const [file, text] of files) writeFileSync(file, text);
  }
}

function textOf(file: string): string | null {
  return existsSync(file) ? readFileSync(file, "utf8") : null;
}
