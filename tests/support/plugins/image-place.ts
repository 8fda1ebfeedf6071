// Images in a plugin directory, made here: the small plugin with the runtime that we run on, and whatever else a test puts in.

import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import {
  type MadeEntry,
  type MadeImage,
  makeImage,
  type MadeLayer,
  plainLayer,
  tarOf,
} from "../../../src/plugins/images/made-image.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** Where the project lies in the image. */
const HOME = "srv/holdfast";

export function putImage(directory: string, name: string, image: MadeImage): string {
  for (const [path, bytes] of image.files) {
    const place = join(directory, "images", name, path);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, bytes);
  }
  return image.sha256;
}

/** The small plugin, and what it needs to run: about 120 MB, most of it the runtime. */
export function smallPluginImage(config: object = {}, more: readonly MadeEntry[] = []): MadeImage {
  const node = realpathSync(process.execPath);
  const layer = (entries: readonly MadeEntry[]): MadeLayer => plainLayer(tarOf(entries));
  const runtime = [
    { path: "usr/bin/node", content: readFileSync(node) },
    ...librariesOf(node).map((path) => ({ path: path.slice(1), content: readFileSync(path) })),
  ];
  const own = ["shared", "plugin-sdk", "src/system", "src/base", "tests/support/plugins"].flatMap(
    (folder) => sourcesBelow(join(ROOT, folder)),
  );
  const files = [
    ...own,
    ...filesBelow(
      join(ROOT, "node_modules", "@bufbuild", "protobuf"),
      /esm\/.*\.js$|package\.json$/,
    ),
    join(ROOT, "package.json"),
  ].map((path) => ({
    path: join(HOME, relative(ROOT, path)),
    mode: 0o644,
    content: readFileSync(path),
  }));
  const links = ["shared", "plugin-sdk"].map((name) => ({
    path: join(HOME, "node_modules", "@holdfast", name),
    type: "2",
    target: `../../${name}`,
  }));
  const program = {
    Entrypoint: ["/usr/bin/node", `/${HOME}/tests/support/plugins/small-plugin.ts`],
    WorkingDir: `/${HOME}`,
    Env: ["PATH=/usr/bin:/bin", "OF_THE_IMAGE=yes"],
  };
  const layers = [layer(runtime), layer([...files, ...links, ...more])];
  return makeImage(layers, { ...program, ...config }, process.arch);
}

/** Busybox with what it can do, and whatever else is given: words for its shell are arguments. */
export function busyboxImage(
  busybox: string,
  config: object = {},
  more: readonly MadeEntry[] = [],
): MadeImage {
  const tools = execFileSync(busybox, ["--list"], { encoding: "utf8" }).trim().split("\n");
  const links = tools
    .filter((tool) => tool !== "busybox")
    .map((tool) => ({ path: `bin/${tool}`, type: "2", target: "busybox" }));
  const tar = tarOf([{ path: "bin/busybox", content: readFileSync(busybox) }, ...links, ...more]);
  const program = { Entrypoint: ["/bin/sh", "-c"], Env: ["PATH=/bin"], ...config };
  return makeImage([plainLayer(tar)], program, process.arch);
}

/** Perl, which every Debian has, and which can make any call to the kernel: its program is an argument. */
export function perlImage(): MadeImage {
  const perl = "/usr/bin/perl";
  const files = [perl, ...librariesOf(perl)].map((path) => ({
    path: path.slice(1),
    content: readFileSync(path),
  }));
  return makeImage([plainLayer(tarOf(files))], { Entrypoint: [perl, "-e"] }, process.arch);
}

function librariesOf(file: string): string[] {
  const said = execFileSync("ldd", [file], { encoding: "utf8" });
  return Array.from(said.matchAll(/(\/\S+) \(0x/g), ([, path = ""]) => path);
}

function sourcesBelow(folder: string): string[] {
  const all = filesBelow(folder, /\.(?:ts|json)$/);
  return all.filter((path) => !/\.test\.ts$|node_modules/.test(path.slice(folder.length)));
}

function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => pattern.test(path) && statSync(path).isFile());
}
